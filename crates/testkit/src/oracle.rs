//! Questions to the Go libraries that Kubernetes itself uses, so that tests can compare instead of believe.
//!
//! `tools/oracle` answers one JSON line per question. It is built once per change of its sources and started once
//! per test process; both need `go`, which is a requirement of the tests.

mod build;

use std::io::{BufRead, BufReader, BufWriter, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

use serde_json::{Value, json};

pub use build::BuildError;

/// A running oracle.
pub struct Oracle {
    process: Mutex<Process>,
}

struct Process {
    child: Child,
    questions: BufWriter<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Oracle {
    /// The oracle of this test process, built and started by the first caller.
    ///
    /// # Panics
    ///
    /// If it cannot be built or started, with what to do about it: the test cannot say anything without it.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Oracle> = OnceLock::new();
        SHARED.get_or_init(|| match Self::start() {
            Ok(oracle) => oracle,
            Err(error) => panic!("{}", with_causes(&error)),
        })
    }

    fn start() -> Result<Self, BuildError> {
        let program = build::build()?;
        let mut child = Command::new(&program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|source| BuildError::Start { program, source })?;
        let questions = BufWriter::new(child.stdin.take().expect("standard input is piped"));
        let answers = BufReader::new(child.stdout.take().expect("standard output is piped"));
        Ok(Self { process: Mutex::new(Process { child, questions, answers }) })
    }

    /// Asks one question; a refusal is the library's own error text.
    pub fn ask(&self, op: &str, input: &Value) -> Result<Value, String> {
        self.ask_all(op, [input.clone()]).pop().expect("one question has one answer")
    }

    /// Asks many questions without waiting for each answer; the answers come in the order of the questions.
    pub fn ask_all(&self, op: &str, inputs: impl IntoIterator<Item = Value>) -> Vec<Result<Value, String>> {
        let lines: Vec<String> =
            inputs.into_iter().map(|input| json!({"op": op, "input": input}).to_string()).collect();
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        process.exchange(&lines)
    }
}

impl Process {
    /// Writes on one thread and reads on another, or both sides would wait for each other when the pipes are full.
    fn exchange(&mut self, lines: &[String]) -> Vec<Result<Value, String>> {
        let Self { questions, answers, .. } = self;
        thread::scope(|scope| {
            scope.spawn(move || {
                for line in lines {
                    writeln!(questions, "{line}").expect("the oracle reads until its input ends");
                }
                questions.flush().expect("the oracle reads until its input ends");
            });
            lines.iter().map(|line| read_answer(answers, line)).collect()
        })
    }
}

fn read_answer(answers: &mut impl BufRead, question: &str) -> Result<Value, String> {
    let mut line = String::new();
    let length = answers.read_line(&mut line).expect("the oracle writes UTF-8 lines");
    assert!(length > 0, "the oracle ended at the question {question}");
    let mut answer: Value = serde_json::from_str(&line).expect("the oracle answers in JSON");
    match answer.get("error") {
        Some(error) => Err(error.as_str().unwrap_or_default().to_owned()),
        None => Ok(answer["ok"].take()),
    }
}

/// The oracle ends by itself when its input does; this only waits for it.
impl Drop for Process {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_answered_in_order() {
        let texts = (0..2000).map(|number| json!(format!("a: {number}\n")));
        let answers = Oracle::shared().ask_all("yaml.toJSON", texts);
        for (number, answer) in answers.iter().enumerate() {
            assert_eq!(*answer, Ok(json!(format!("{{\"a\":{number}}}"))));
        }
    }

    #[test]
    fn a_refusal_is_the_librarys_own_text() {
        let answer = Oracle::shared().ask("yaml.toJSONStrict", &json!("a: 1\na: 2\n"));
        assert_eq!(answer, Err("yaml: unmarshal errors:\n  line 2: key \"a\" already set in map".to_owned()));
    }
}
