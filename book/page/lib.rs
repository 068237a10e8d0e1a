//! What the page in the browser asks for, as WebAssembly without a framework: a request in JSON, an answer in JSON.
//!
//! ```text
//! room(bytes) -> address     where the page writes its request
//! answer()    -> address     reads the request, answers it; answer_bytes() says how long the answer is
//! ```
//!
//! Law: every request has an answer; what is wrong with it is under `error` or `mistakes`. The page runs one such
//! instance in a worker, and ends the worker where a launch takes too long.

mod answers;
mod examples;
mod layouts;
mod sizes;

use std::sync::Mutex;

static REQUEST: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static ANSWER: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Makes room for a request of so many bytes; the address in the instance's memory.
#[unsafe(no_mangle)]
pub extern "C" fn room(bytes: usize) -> usize {
    let Ok(mut request) = REQUEST.lock() else { return 0 };
    request.clear();
    request.resize(bytes, 0);
    request.as_mut_ptr() as usize
}

/// Answers the request; the address of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> usize {
    let (Ok(request), Ok(mut answer)) = (REQUEST.lock(), ANSWER.lock()) else { return 0 };
    *answer = reply(&String::from_utf8_lossy(&request)).into_bytes();
    answer.as_ptr() as usize
}

/// The bytes of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn answer_bytes() -> usize {
    ANSWER.lock().map_or(0, |answer| answer.len())
}

/// The answer to a request.
pub fn reply(request: &str) -> String {
    let answer = match serde_json::from_str(request) {
        Ok(request) => answers::answer(&request),
        Err(error) => serde_json::json!({ "error": format!("not a request in JSON: {error}") }),
    };
    answer.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn ask(request: Value) -> Value {
        serde_json::from_str(&reply(&request.to_string())).expect("JSON")
    }

    #[test]
    fn every_example_compiles_and_runs() {
        let list = ask(json!({ "ask": "examples" }));
        let kernels = list["kernels"].as_array().expect("kernels");
        assert!(kernels.len() > 10);
        for example in kernels {
            let request = |word: &str| {
                let sizes = &example["sizes"];
                ask(json!({ "ask": word, "text": example["text"], "sizes": sizes }))
            };
            let cuda = request("compile");
            assert!(
                cuda["cuda"].as_str().is_some_and(|text| text.contains("__global__")),
                "{example}: {cuda}"
            );
            let text = cuda["cuda"].as_str().expect("text").lines().count();
            assert_eq!(cuda["lines"].as_array().map(Vec::len), Some(text));
            let run = request("run");
            let wrong = example["name"].as_str().is_some_and(|name| name.starts_with("wrong"));
            let findings = run["findings"].as_array().unwrap_or_else(|| panic!("{example}: {run}"));
            assert_eq!(findings.is_empty(), !wrong, "{}: {run}", example["name"]);
        }
        for layout in list["layouts"].as_array().expect("layouts") {
            let drawn = ask(json!({ "ask": "layout", "text": layout["text"], "picture": layout["picture"] }));
            assert!(drawn["svg"].as_str().is_some_and(|svg| svg.starts_with("<svg")), "{layout}: {drawn}");
        }
    }

    #[test]
    fn timelines_show_what_ran() {
        let list = ask(json!({ "ask": "examples" }));
        for example in list["kernels"].as_array().expect("kernels") {
            let request = json!({ "ask": "timeline", "text": example["text"], "sizes": example["sizes"] });
            let answer = ask(request);
            let drawn = answer["timelines"].as_array().unwrap_or_else(|| panic!("{example}: {answer}"));
            let wrong = example["name"].as_str().is_some_and(|name| name.starts_with("wrong"));
            let last = drawn.last().expect("a schedule");
            assert_eq!(last["findings"].as_array().is_none_or(Vec::is_empty), !wrong, "{}", example["name"]);
            assert!(
                last["tracks"].as_array().is_some_and(|tracks| tracks[0]["name"] == "warp 0"),
                "{}",
                example["name"]
            );
        }
        // Right where warp 0 adds first: the first schedule and another one.
        let text = "#[tiled_kernel(block = [64], grid = [1])]\nfn f(x: &mut LayoutTensor<u32, RowMajor<1>>) {\n    if lane_id() == 0 {\n        let before = x.atomic_add([0], 1);\n        assert!(before == warp_id() as u32);\n    }\n    barrier();\n}";
        let answer = ask(json!({ "ask": "timeline", "text": text, "sizes": "" }));
        let drawn = answer["timelines"].as_array().unwrap_or_else(|| panic!("{answer}"));
        assert!(drawn.len() == 2 && drawn[0]["schedule"] == 0 && drawn[1]["schedule"] != 0, "{answer}");
        assert_eq!(drawn[1]["findings"][0]["line"], 5, "{answer}");
    }

    #[test]
    fn mistakes_have_their_places() {
        let text = "#[tiled_kernel(block = [32], grid = [1])]\nfn f(x: &mut LayoutTensor<f32, RowMajor<32>>) {\n    x[[thread_idx.x]] = y;\n}";
        let answer = ask(json!({ "ask": "compile", "text": text, "sizes": "" }));
        assert_eq!(
            (&answer["mistakes"][0]["line"], &answer["mistakes"][0]["column"]),
            (&json!(3), &json!(25)),
            "{answer}"
        );
        let racy = text.replace("x[[thread_idx.x]] = y", "x[[0]] = thread_idx.x as f32");
        let answer = ask(json!({ "ask": "run", "text": racy, "sizes": "" }));
        assert_eq!(answer["findings"][0]["line"], 3, "{answer}");
        let answer = ask(
            json!({ "ask": "layout", "text": "composition((4,6,8):(2,3,5), 6:3)", "picture": "offsets" }),
        );
        assert!(answer["error"].as_str().is_some_and(|error| error.contains("divisible")), "{answer}");
    }

    #[test]
    fn any_request_has_an_answer() {
        for request in [
            "",
            "{",
            "{}",
            "[]",
            "null",
            r#"{"ask":"run"}"#,
            r#"{"ask":"timeline"}"#,
            r#"{"ask":"compile","text":7}"#,
            r#"{"ask":"layout","text":"("}"#,
        ] {
            let answer: Value = serde_json::from_str(&reply(request)).expect("JSON");
            assert!(answer.is_object(), "{request}: {answer}");
        }
        let many = ask(
            json!({ "ask": "run", "text": "#[tiled_kernel(block = [1], grid = [1])] fn f<const N: usize>(x: &mut LayoutTensor<f32, RowMajor<N>>) {}", "sizes": "N = 99999999999" }),
        );
        assert!(many.to_string().contains("elements"), "{many}");
    }

    #[test]
    fn exercises_are_checked() {
        let list = ask(json!({ "ask": "examples" }));
        let exercises = list["exercises"].as_array().expect("exercises");
        assert!(exercises.iter().any(|exercise| exercise["name"] == "p12"));
        let p14 = exercises.iter().find(|exercise| exercise["name"] == "p14").expect("p14");
        let answer = ask(json!({ "ask": "check", "name": "p14", "text": p14["text"] }));
        assert_eq!(answer["right"], false, "{answer}");
    }
}
