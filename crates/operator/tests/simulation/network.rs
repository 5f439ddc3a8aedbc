//! Everything between the operators and the API server: latency, faults, late watches, operators that are killed or frozen.
//!
//! One thing happens at a time, when all operators are idle; when, and with which fault, depends on the seed and on what is
//! asked for.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use operator::runtime::clock::Clock;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;

use crate::controllers;
use crate::request::{Request, Verb};
use crate::rules::Rules;
use crate::server::{Change, Server, status};

/// How bad things are: each is in a thousand requests or events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Weather {
    pub(crate) refused: u32,
    pub(crate) lost: u32,
    pub(crate) slow: u32,
    pub(crate) late: u32,
    pub(crate) expired: u32,
}

/// At which call the operator dies: after this many more, before or after the call takes effect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kill {
    pub(crate) after_calls: u32,
    pub(crate) takes_effect: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Alive,
    Frozen,
    Dead,
}

/// What an operator gets for a request.
pub(crate) enum Reply {
    Answer {
        code: u16,
        body: Value,
    },
    Stream(mpsc::UnboundedReceiver<Bytes>),
    /// The connection breaks.
    Broken,
}

enum Delivery {
    Request { client: usize, request: Request, reply: oneshot::Sender<Reply> },
    Reply { answer: Reply, to: oneshot::Sender<Reply> },
    Line { stream: u64, line: Bytes },
    End { stream: u64 },
    Controllers,
}

struct Stream {
    client: usize,
    request: Request,
    lines: mpsc::UnboundedSender<Bytes>,
    /// When the last line is due: a watch never changes the order.
    due: u64,
}

pub(crate) struct Network {
    world: Mutex<World>,
    changed: Notify,
}

pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) server: Server,
    pub(crate) rules: Rules,
    pub(crate) weather: Weather,
    pub(crate) kill: Option<Kill>,
    /// The clock of the operators.
    pub(crate) clock: Clock,
    pub(crate) lives: Vec<Life>,
    /// Everything that happened, for a failure's report.
    pub(crate) journal: Vec<String>,
    /// A hash of all of it, including what is too much for the journal: two histories with the same one are the same.
    pub(crate) trace: DefaultHasher,
    /// Writes of operators that took effect or could have.
    pub(crate) writes: u64,
    schedule: BTreeMap<(u64, u64, u64), Delivery>,
    held: Vec<Delivery>,
    streams: BTreeMap<u64, Stream>,
    occurrences: HashMap<u64, u64>,
    sequence: u64,
    is_control_due: bool,
    sent: usize,
    began: Instant,
}

impl Network {
    pub(crate) fn new(seed: u64) -> Arc<Self> {
        let server = Server::new();
        let clock = Clock::starting_at(server.clock.now());
        let world = World {
            seed,
            server,
            clock,
            rules: Rules::default(),
            weather: Weather::default(),
            kill: None,
            lives: Vec::new(),
            journal: Vec::new(),
            trace: DefaultHasher::new(),
            writes: 0,
            schedule: BTreeMap::new(),
            held: Vec::new(),
            streams: BTreeMap::new(),
            occurrences: HashMap::new(),
            sequence: 0,
            is_control_due: false,
            sent: 0,
            began: Instant::now(),
        };
        Arc::new(Self { world: Mutex::new(world), changed: Notify::new() })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something was done to the world from outside.
    pub(crate) fn changed(&self) {
        self.lock().announce();
        self.changed.notify_one();
    }

    /// Sends a request of an operator; pending for ever if the operator dies first.
    pub(crate) async fn send(&self, client: usize, request: Request) -> Reply {
        let (reply, answer) = oneshot::channel();
        {
            let mut world = self.lock();
            let key = world.key(client, &request.to_string());
            let mut random = fastrand::Rng::with_seed(key);
            let latency = world.latency(&mut random);
            let delivery = Delivery::Request { client, request, reply };
            // What a frozen operator is about to send waits until it thaws; what it has sent does not.
            if world.lives[client] == Life::Frozen {
                world.held.push(delivery);
            } else {
                world.schedule(latency, key, delivery);
            }
        }
        self.changed.notify_one();
        match answer.await {
            Ok(reply) => reply,
            Err(_) => std::future::pending().await,
        }
    }

    /// Delivers what is due, for ever.
    pub(crate) async fn deliver(self: Arc<Self>) {
        loop {
            let due = self.lock().schedule.keys().next().map(|(due, ..)| *due);
            let Some(due) = due else {
                self.changed.notified().await;
                continue;
            };
            let at = self.lock().began + Duration::from_millis(due);
            if at > Instant::now() {
                tokio::select! {
                    biased;
                    () = self.changed.notified() => {}
                    () = tokio::time::sleep_until(at) => {}
                }
                continue;
            }
            self.lock().deliver_next();
            // Whatever follows from it happens before anything else does.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

impl World {
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) fn note(&mut self, line: impl std::fmt::Display) {
        let now = self.now();
        let line = format!("{:>8}.{:03} {line}", now / 1000, now % 1000);
        line.hash(&mut self.trace);
        self.journal.push(line);
    }

    /// A number for the next occurrence of `what`, which depends on nothing else that happens.
    pub(crate) fn key(&mut self, client: usize, what: &str) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.seed, client, what).hash(&mut hasher);
        let occurrence = self.occurrences.entry(hasher.finish()).or_default();
        *occurrence += 1;
        occurrence.hash(&mut hasher);
        hasher.finish()
    }

    pub(crate) fn latency(&self, random: &mut fastrand::Rng) -> u64 {
        if random.u32(..1000) < self.weather.slow { random.u64(300..20_000) } else { random.u64(1..25) }
    }

    fn schedule(&mut self, wait: u64, key: u64, delivery: Delivery) {
        self.sequence += 1;
        let due = self.now() + wait;
        self.schedule.insert((due, key, self.sequence), delivery);
    }

    fn deliver_next(&mut self) {
        let Some((due, delivery)) = self.schedule.pop_first() else { return };
        // The number depends on the order in which futures that wait together are polled.
        let (at, key, _) = due;
        (at, key).hash(&mut self.trace);
        let client = match &delivery {
            Delivery::Request { client, .. } => Some(*client),
            Delivery::Line { stream, .. } | Delivery::End { stream } => {
                self.streams.get(stream).map(|stream| stream.client)
            }
            Delivery::Reply { .. } | Delivery::Controllers => None,
        };
        let life = client.map(|client| self.lives[client]);
        match (life, delivery) {
            (Some(Life::Dead), _) => {}
            (_, Delivery::Request { client, request, reply }) => match self.take(client, request) {
                Some(answer) if life == Some(Life::Frozen) => {
                    self.held.push(Delivery::Reply { answer, to: reply });
                }
                // The operator may have stopped waiting.
                Some(answer) => drop(reply.send(answer)),
                None => {}
            },
            (Some(Life::Frozen), delivery) => self.held.push(delivery),
            (_, delivery) => self.deliver(delivery),
        }
        self.announce();
    }

    fn deliver(&mut self, delivery: Delivery) {
        match delivery {
            Delivery::Request { .. } => {}
            Delivery::Reply { answer, to } => drop(to.send(answer)),
            Delivery::Line { stream, line } => {
                if let Some(stream) = self.streams.get(&stream) {
                    let _ = stream.lines.send(line);
                }
            }
            Delivery::End { stream } => drop(self.streams.remove(&stream)),
            Delivery::Controllers => {
                self.is_control_due = false;
                let key = self.key(usize::MAX, "controllers");
                let mut random = fastrand::Rng::with_seed(key);
                if controllers::step(&mut self.server, &mut random) {
                    self.control();
                }
            }
        }
    }

    fn control(&mut self) {
        if !std::mem::replace(&mut self.is_control_due, true) {
            let key = self.key(usize::MAX, "control");
            let wait = fastrand::Rng::with_seed(key).u64(5..1500);
            self.schedule(wait, key, Delivery::Controllers);
        }
    }

    /// A request arrives; `None` if its operator dies of it.
    fn take(&mut self, client: usize, request: Request) -> Option<Reply> {
        let key = self.key(client, &format!("take {request}"));
        key.hash(&mut self.trace);
        let mut random = fastrand::Rng::with_seed(key);
        let dies = self.strike(client, request.verb != Verb::Watch);
        if dies == Some(false) {
            self.note(format_args!("operator {client} dies before {request}"));
            return None;
        }
        if let Some(refused) = self.refuse(&mut random) {
            let said = if let Reply::Answer { code, .. } = &refused {
                code.to_string()
            } else {
                "broken".to_owned()
            };
            self.note(format_args!("{client}: {request} -> {said}"));
            return dies.is_none().then_some(refused);
        }
        if request.verb == Verb::Watch {
            return Some(self.watch(client, request, &mut random));
        }
        self.writes += u64::from(request.is_write());
        let before = self.server.log.len();
        let (code, body) = self.server.handle(&request);
        let changes: Vec<Change> = self.server.log[before..].to_vec();
        self.rules.after(&self.server, client, &request, &changes);
        if request.verb.is_write() {
            self.note(format_args!("{client}: {request} -> {code}"));
        }
        if dies.is_some() {
            self.note(format_args!("operator {client} dies after {request}"));
            return None;
        }
        if random.u32(..1000) < self.weather.lost {
            self.note(format_args!("{client}: the answer to {request} is lost"));
            return Some(Reply::Broken);
        }
        Some(Reply::Answer { code, body })
    }

    /// Whether the operator dies at this call, and if so whether the call takes effect.
    pub(crate) fn strike(&mut self, client: usize, counts: bool) -> Option<bool> {
        let kill = self.kill.as_mut().filter(|_| counts)?;
        if kill.after_calls > 0 {
            kill.after_calls -= 1;
            return None;
        }
        let takes_effect = kill.takes_effect;
        self.kill = None;
        self.lives[client] = Life::Dead;
        Some(takes_effect)
    }

    fn refuse(&self, random: &mut fastrand::Rng) -> Option<Reply> {
        if random.u32(..1000) >= self.weather.refused {
            return None;
        }
        let (code, reason) = match random.u8(..5) {
            0 => (429, "TooManyRequests"),
            1 => (503, "ServiceUnavailable"),
            2 => (500, "InternalError"),
            3 => (409, "Conflict"),
            _ => return Some(Reply::Broken),
        };
        let mut body = status(code, reason, "the simulation says so", "");
        if code == 429 {
            body["details"]["retryAfterSeconds"] = 1.into();
        }
        Some(Reply::Answer { code, body })
    }

    fn watch(&mut self, client: usize, request: Request, random: &mut fastrand::Rng) -> Reply {
        let Some(at) = request.resource.clone() else { return Reply::Broken };
        if self.server.served(&at.group, &at.version, &at.plural).is_none() {
            return Reply::Answer { code: 404, body: Value::Null };
        }
        if random.u32(..1000) < self.weather.expired {
            return Reply::Answer { code: 410, body: status(410, "Expired", "too old resource version", "") };
        }
        let (lines, receiver) = mpsc::unbounded_channel();
        let from: u64 =
            request.parameter("resourceVersion").and_then(|it| it.parse().ok()).unwrap_or_default();
        let seconds: u64 = request.parameter("timeoutSeconds").and_then(|it| it.parse().ok()).unwrap_or(240);
        self.sequence += 1;
        let stream = self.sequence;
        let due = self.now();
        self.streams.insert(stream, Stream { client, request, lines, due });
        let missed: Vec<Change> =
            self.server.log[..self.sent].iter().filter(|it| it.version > from).cloned().collect();
        for change in &missed {
            self.line(stream, change);
        }
        self.schedule(seconds * 1000, stream, Delivery::End { stream });
        Reply::Stream(receiver)
    }

    /// Sends what has changed to all watches, ends those of what is no longer served, and wakes the controllers.
    pub(crate) fn announce(&mut self) {
        if self.sent == self.server.log.len() {
            return;
        }
        let new: Vec<Change> = self.server.log[self.sent..].to_vec();
        self.sent = self.server.log.len();
        for change in &new {
            let streams: Vec<u64> = self.streams.keys().copied().collect();
            for stream in streams {
                self.line(stream, change);
            }
        }
        let gone = |stream: &Stream| {
            let at = stream.request.resource.as_ref();
            at.is_none_or(|at| self.server.served(&at.group, &at.version, &at.plural).is_none())
        };
        let gone: Vec<u64> =
            self.streams.iter().filter(|(_, it)| gone(it)).map(|(stream, _)| *stream).collect();
        for stream in gone {
            self.streams.remove(&stream);
        }
        self.rules.at_every_step(&self.server);
        self.control();
    }

    /// Schedules the line of one change for one watch, if it is about it.
    fn line(&mut self, number: u64, change: &Change) {
        let Some(stream) = self.streams.get(&number) else { return };
        let selects = |side: &Option<Arc<Value>>| {
            side.as_ref().is_some_and(|object| stream.request.selects(&change.id, object))
        };
        let (kind, object) = match (selects(&change.before), selects(&change.after)) {
            (false, true) => ("ADDED", change.after.as_ref()),
            (true, true) => ("MODIFIED", change.after.as_ref()),
            (true, false) => ("DELETED", change.before.as_ref()),
            (false, false) => return,
        };
        let mut object = object.map(|object| Value::clone(object)).unwrap_or_default();
        if let Some(at) = &stream.request.resource {
            let group = if at.group.is_empty() { String::new() } else { format!("{}/", at.group) };
            object["apiVersion"] = format!("{group}{}", at.version).into();
        }
        object["metadata"]["resourceVersion"] = change.version.to_string().into();
        let what = format!("line {} {} {}", stream.request, change.id, change.version);
        let (client, before) = (stream.client, stream.due);
        let key = self.key(client, &what);
        let mut random = fastrand::Rng::with_seed(key);
        let is_late = random.u32(..1000) < self.weather.late;
        let wait = if is_late { random.u64(500..30_000) } else { random.u64(1..30) };
        let is_twice = is_late && random.bool();
        let line = Bytes::from(format!("{}\n", json!({"type": kind, "object": object})));
        let due = before.max(self.now() + wait);
        if let Some(stream) = self.streams.get_mut(&number) {
            stream.due = due;
        }
        let wait = due - self.now();
        if is_twice {
            self.schedule(wait, number, Delivery::Line { stream: number, line: line.clone() });
        }
        self.schedule(wait, number, Delivery::Line { stream: number, line });
    }

    /// A frozen operator goes on where it stopped.
    pub(crate) fn thaw(&mut self) {
        for life in self.lives.iter_mut().filter(|life| **life == Life::Frozen) {
            *life = Life::Alive;
        }
        for (place, delivery) in std::mem::take(&mut self.held).into_iter().enumerate() {
            self.schedule(1, place as u64, delivery);
        }
    }
}
