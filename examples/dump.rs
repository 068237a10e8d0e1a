fn main() { for v in layout_examples::kernels::tensor_gemm::gemm_tf32::variants() { println!("// {} shared {}\n{}", v.key, v.shared_bytes, v.text); } }
