//! Attention beside candle's own products and softmax in float32.

use super::{close, error_text, random};
use candle_core::{DType, Result, Tensor};
use layout_candle::attention;

/// `softmax(q kᵀ / sqrt(d)) v` in float32; causal, the last query beside the last key.
fn exact(q: &Tensor, k: &Tensor, v: &Tensor, causal: bool) -> Result<Tensor> {
    let [q, k, v] = [q, k, v].map(|tensor| tensor.to_dtype(DType::F32)?.contiguous());
    let (q, k, v) = (q?, k?, v?);
    let (heads, queries, d) = (q.dim(1)?, q.dim(2)?, q.dim(3)?);
    let each = heads / k.dim(1)?;
    let of = |tensor: &Tensor| {
        let heads: Vec<Tensor> =
            (0..heads).map(|head| tensor.narrow(1, head / each, 1)).collect::<Result<_>>()?;
        Tensor::cat(&heads, 1)?.contiguous()
    };
    let (k, v) = (of(&k)?, of(&v)?);
    let keys = k.dim(2)?;
    let mut scores = (q.matmul(&k.t()?)? / (d as f64).sqrt())?;
    if causal {
        let hidden = |query: usize, key: usize| key + queries > query + keys;
        let each = (0..queries).flat_map(|query| (0..keys).map(move |key| (query, key)));
        let mask: Vec<f32> =
            each.map(|(query, key)| if hidden(query, key) { f32::NEG_INFINITY } else { 0.0 }).collect();
        scores = scores.broadcast_add(&Tensor::from_vec(mask, (queries, keys), scores.device())?)?;
    }
    candle_nn::ops::softmax_last_dim(&scores)?.matmul(&v)
}

#[test]
fn it_equals_candles_own() -> Result<()> {
    for (dtype, bound) in [(DType::BF16, 1.6e-2), (DType::F16, 2e-3)] {
        for ([heads, groups], [queries, keys], d, causal) in
            [([2, 1], [7, 7], 64, true), ([1, 1], [3, 130], 64, false), ([2, 2], [5, 9], 96, true)]
        {
            let q = random(&[1, heads, queries, d], dtype)?;
            let (k, v) = (random(&[1, groups, keys, d], dtype)?, random(&[1, groups, keys, d], dtype)?);
            let own = exact(&q, &k, &v, causal)?.to_dtype(dtype)?;
            close(&attention(&q, &k, &v, causal, None)?, &own, bound)?;
            // Places before heads, as products leave them.
            let [q, k, v] = [&q, &k, &v].map(|of| of.transpose(1, 2)?.contiguous()?.transpose(1, 2));
            close(&attention(&q?, &k?, &v?, causal, None)?, &own, bound)?;
        }
    }
    Ok(())
}

#[test]
fn what_does_not_fit_is_an_error() -> Result<()> {
    let q = random(&[1, 2, 4, 64], DType::BF16)?;
    let wide = q.to_dtype(DType::F32)?;
    assert!(error_text(attention(&wide, &wide, &wide, true, None)).contains("F32"));
    let three = random(&[1, 3, 4, 64], DType::BF16)?;
    let heads = error_text(attention(&q, &three, &three, true, None));
    assert!(heads.contains("attention") && heads.contains("HQ % HK"), "{heads}");
    let other = error_text(attention(&q, &q.to_dtype(DType::F16)?, &q, true, None));
    assert!(other.contains("attention") && other.contains("f16"), "{other}");
    Ok(())
}
