//! A test oracle: the Go libraries that Kubernetes itself uses, for tests to compare with.
//!
//! `tools/oracle` responds to each JSON line with one. It is built once per change of its sources and started once per
//! test process; both need `go`.

mod build;

use std::io::{BufRead, BufReader, BufWriter, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

use serde_json::{Value, json};

pub struct Oracle {
    process: Mutex<Process>,
}

struct Process {
    child: Child,
    requests: BufWriter<ChildStdin>,
    responses: BufReader<ChildStdout>,
}

impl Oracle {
    /// The oracle of this test process, built and started on the first call.
    ///
    /// # Panics
    ///
    /// If it cannot be built or started.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Oracle> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    fn start() -> Self {
        let program = build::build();
        let mut child = Command::new(&program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {}: {error}", program.display()));
        let requests = BufWriter::new(child.stdin.take().expect("standard input is piped"));
        let responses = BufReader::new(child.stdout.take().expect("standard output is piped"));
        Self { process: Mutex::new(Process { child, requests, responses }) }
    }

    /// Runs one operation; the error is the library's own text.
    pub fn ask(&self, op: &str, input: &Value) -> Result<Value, String> {
        self.ask_all(op, [input.clone()]).pop().expect("one request has one response")
    }

    /// Runs an operation on many inputs without waiting for each result; returns the results in order.
    pub fn ask_all(&self, op: &str, inputs: impl IntoIterator<Item = Value>) -> Vec<Result<Value, String>> {
        let lines: Vec<String> =
            inputs.into_iter().map(|input| json!({"op": op, "input": input}).to_string()).collect();
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        process.exchange(&lines)
    }
}

impl Process {
    /// Writes on one thread and reads on another: otherwise both sides would block when the pipes are full.
    fn exchange(&mut self, lines: &[String]) -> Vec<Result<Value, String>> {
        let Self { requests, responses, .. } = self;
        thread::scope(|scope| {
            scope.spawn(move || {
                for line in lines {
                    writeln!(requests, "{line}").expect("the oracle reads until its input ends");
                }
                requests.flush().expect("the oracle reads until its input ends");
            });
            lines.iter().map(|line| read_response(responses, line)).collect()
        })
    }
}

fn read_response(responses: &mut impl BufRead, request: &str) -> Result<Value, String> {
    let mut line = String::new();
    let length = responses.read_line(&mut line).expect("the oracle writes UTF-8 lines");
    assert!(length > 0, "the oracle exited at the request {request}");
    let mut response: Value = serde_json::from_str(&line).expect("the oracle writes JSON");
    match response.get("error") {
        Some(error) => Err(error.as_str().unwrap_or_default().to_owned()),
        None => Ok(response["ok"].take()),
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It fails if the oracle has already exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order() {
        let texts = (0..2000).map(|number| json!(format!("a: {number}\n")));
        let results = Oracle::shared().ask_all("yaml.toJSON", texts);
        for (number, result) in results.iter().enumerate() {
            assert_eq!(*result, Ok(json!(format!("{{\"a\":{number}}}"))));
        }
    }

    #[test]
    fn an_error_is_the_librarys_own_text() {
        let result = Oracle::shared().ask("yaml.toJSONStrict", &json!("a: 1\na: 2\n"));
        assert_eq!(result, Err("yaml: unmarshal errors:\n  line 2: key \"a\" already set in map".to_owned()));
    }
}
