//! Pages that ask the same question share one answer. It is followed while a page looks, and a little longer.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task;

use crate::source::{Answer, Question, Source};

/// How long a question is followed after the last page has gone: following a link or reloading leaves a short gap.
const LINGER: Duration = Duration::from_secs(5);

/// An answer, and its place in the order of all answers.
#[derive(Clone, Default)]
pub(crate) struct Snapshot {
    /// Greater than that of every earlier answer to any question; 0 before the first one.
    pub(crate) version: u64,
    pub(crate) answer: Option<Arc<Answer>>,
}

type Answers = watch::Sender<Snapshot>;
type Ask = (Question, oneshot::Sender<watch::Receiver<Snapshot>>);

/// Asks the source, which runs on a thread of its own choice.
#[derive(Clone)]
pub(crate) struct Hub(mpsc::UnboundedSender<Ask>);

impl Hub {
    pub(crate) fn start(source: impl Source) -> Self {
        let (asks, asked) = mpsc::unbounded_channel();
        task::spawn_local(run(Rc::new(source), asked));
        Self(asks)
    }

    /// The answers to a question. The latest one is there at once if another page has asked.
    pub(crate) async fn follow(&self, question: Question) -> watch::Receiver<Snapshot> {
        let (reply, replied) = oneshot::channel();
        // The other end is dropped only with the server.
        let _ = self.0.send((question, reply));
        match replied.await {
            Ok(answers) => answers,
            Err(_) => std::future::pending().await,
        }
    }

    /// The current answer to a question, waiting for the first one.
    pub(crate) async fn ask(&self, question: Question) -> Snapshot {
        let mut answers = self.follow(question).await;
        match answers.wait_for(|snapshot| snapshot.answer.is_some()).await {
            Ok(snapshot) => snapshot.clone(),
            Err(_) => Snapshot::default(),
        }
    }
}

async fn run(source: Rc<impl Source>, mut asked: mpsc::UnboundedReceiver<Ask>) {
    let mut followed: HashMap<Question, Weak<Answers>> = HashMap::new();
    while let Some((question, reply)) = asked.recv().await {
        let known = followed.get(&question).and_then(Weak::upgrade);
        let answers = known.unwrap_or_else(|| {
            followed.retain(|_, answers| answers.strong_count() > 0);
            let answers = Arc::new(watch::channel(Snapshot::default()).0);
            // What was pasted may contain a secret, and is not kept longer than its answer takes.
            if !matches!(question, Question::Plan(Some(_))) {
                followed.insert(question.clone(), Arc::downgrade(&answers));
            }
            task::spawn_local(publish(Rc::clone(&source), question, Arc::clone(&answers)));
            answers
        });
        // A browser may have gone meanwhile.
        let _ = reply.send(answers.subscribe());
    }
}

async fn publish(source: Rc<impl Source>, question: Question, answers: Arc<Answers>) {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let publish = |answer: Answer| {
        let version = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        answers.send_replace(Snapshot { version, answer: Some(Arc::new(answer)) });
    };
    tokio::select! {
        () = source.follow(&question, &publish) => {}
        () = unwatched(&answers) => {}
    }
}

async fn unwatched(answers: &Answers) {
    loop {
        answers.closed().await;
        tokio::time::sleep(LINGER).await;
        if answers.is_closed() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use serde_json::json;
    use tokio::task::LocalSet;

    use super::*;

    /// Counts how often it is asked, and who has stopped listening.
    #[derive(Clone, Default)]
    struct Counter {
        asked: Rc<Cell<u32>>,
        dropped: Rc<Cell<u32>>,
    }

    struct Dropped(Rc<Cell<u32>>);

    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }

    impl Source for Counter {
        async fn follow(&self, question: &Question, publish: &dyn Fn(Answer)) {
            let _dropped = Dropped(Rc::clone(&self.dropped));
            self.asked.set(self.asked.get() + 1);
            publish(Ok(json!(self.asked.get())));
            if *question != Question::Plan(None) {
                std::future::pending::<()>().await;
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn pages_share_an_answer_while_one_of_them_looks() {
        let counter = Counter::default();
        let source = counter.clone();
        let work = async move {
            let hub = Hub::start(source);
            let first = hub.follow(Question::Operations).await;
            assert!(hub.ask(Question::Operations).await.version > 0);
            assert_eq!((counter.asked.get(), counter.dropped.get()), (1, 0));
            drop(first);
            tokio::time::sleep(LINGER / 2).await;
            hub.ask(Question::Operations).await;
            assert_eq!((counter.asked.get(), counter.dropped.get()), (1, 0), "a reload starts nothing new");
            tokio::time::sleep(LINGER * 3).await;
            assert_eq!((counter.asked.get(), counter.dropped.get()), (1, 1), "no page looks any more");
            // An answer that cannot change is asked for again every time.
            let once = Question::Plan(None);
            let (one, other) = (hub.ask(once.clone()).await, hub.ask(once).await);
            assert!(one.version < other.version && other.answer.is_some());
            assert_eq!(counter.asked.get(), 3);
            // What was pasted is not a key of anything.
            let pasted = Question::Plan(Some("kind: Secret".to_owned()));
            let _one = hub.follow(pasted.clone()).await;
            let _other = hub.follow(pasted).await;
            task::yield_now().await;
            assert_eq!(counter.asked.get(), 5);
        };
        LocalSet::new().run_until(work).await;
    }
}
