//! What happens in a history: people, faults, and operators that die or stand still.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::network::{Kill, Life, Network, Weather};
use crate::operator::Operator;
use crate::rules::is_going;
use crate::user::{self, XRD};

const LETTERS: &str = "abcdnopq";

#[derive(Clone, Debug)]
pub(crate) enum Incident {
    /// A claim is created, or asks for other parts.
    Claim {
        name: u8,
        parts: String,
        policy: &'static str,
    },
    DeleteClaim(u8),
    /// An XR without a claim is created, or asks for other parts.
    Xr {
        parts: String,
    },
    /// An XR is deleted by hand, with or without its claim.
    DeleteXr {
        place: usize,
        foreground: bool,
    },
    Pause {
        plural: &'static str,
        place: usize,
        paused: bool,
    },
    Edition(u8),
    Paint(u8),
    DeleteChild(usize),
    EditChild(usize),
    Serve {
        plural: &'static str,
        is_served: bool,
    },
    DeleteXrd,
    Define,
    Weather(Weather),
    Kill(Kill),
    /// The clock of the operators is set forward by so many seconds, or back.
    SetClock {
        forward: i64,
    },
    Restart,
    /// The leader stands still, and another takes over when its lease has expired.
    Freeze {
        until_takeover: u64,
    },
    /// The frozen leader goes on, until it notices that it no longer leads.
    Thaw {
        notices_after: u64,
    },
}

/// An incident and how long it comes after the one before, in milliseconds.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) wait: u64,
    pub(crate) incident: Incident,
}

pub(crate) fn steps(seed: u64) -> Vec<Step> {
    let mut random = fastrand::Rng::with_seed(seed);
    let count = random.usize(2..22);
    (0..count)
        .map(|place| {
            let wait = match random.u8(..4) {
                0 => random.u64(..60),
                1 => random.u64(..1000),
                2 => random.u64(..10_000),
                _ => random.u64(..60_000),
            };
            // There is something to be done to.
            let incident = if place == 0 { claim(&mut random) } else { incident(&mut random) };
            Step { wait, incident }
        })
        .collect()
}

fn claim(random: &mut fastrand::Rng) -> Incident {
    let policy = if random.bool() { "Background" } else { "Foreground" };
    Incident::Claim { name: random.u8(..3), parts: parts(random), policy }
}

fn parts(random: &mut fastrand::Rng) -> String {
    let chosen: String = LETTERS.chars().filter(|_| random.u8(..3) == 0).collect();
    if chosen.is_empty() { "a".to_owned() } else { chosen }
}

fn incident(random: &mut fastrand::Rng) -> Incident {
    let place = random.usize(..8);
    match random.u8(..50) {
        0..=10 => claim(random),
        11..=13 => Incident::DeleteClaim(random.u8(..3)),
        14..=15 => Incident::Xr { parts: parts(random) },
        16..=17 => Incident::DeleteXr { place, foreground: random.bool() },
        18 => Incident::Pause { plural: "apps", place, paused: random.bool() },
        19 => Incident::Pause { plural: "xapps", place, paused: random.bool() },
        20..=22 => Incident::Edition(random.u8(..4)),
        23..=24 => Incident::Paint(random.u8(..3)),
        25..=26 => Incident::DeleteChild(place),
        27 => Incident::EditChild(place),
        28..=29 => Incident::Serve { plural: "shelves", is_served: random.bool() },
        30..=31 => Incident::Serve { plural: "things", is_served: random.bool() },
        32 => Incident::DeleteXrd,
        33..=34 => Incident::Define,
        35..=38 => Incident::Weather(weather(random)),
        39..=43 => Incident::Kill(Kill { after_calls: random.u32(..40), takes_effect: random.bool() }),
        44 => Incident::Restart,
        45 => Incident::SetClock { forward: random.i64(-7200..7200) },
        46..=47 => Incident::Freeze { until_takeover: random.u64(100..2000) },
        _ => Incident::Thaw { notices_after: random.u64(..3000) },
    }
}

fn weather(random: &mut fastrand::Rng) -> Weather {
    let mut much = || if random.bool() { random.u32(..200) } else { 0 };
    Weather { refused: much(), lost: much(), slow: much() / 4, late: much(), expired: much() }
}

/// What a history is played on.
pub(crate) struct Stage {
    pub(crate) network: Arc<Network>,
    operator: Option<Operator>,
    frozen: Option<Operator>,
    /// The claims that people want.
    pub(crate) claims: BTreeSet<String>,
}

impl Stage {
    pub(crate) fn new(seed: u64) -> Self {
        let network = Network::new(seed);
        network.lock().server.install();
        network.changed();
        tokio::spawn(Arc::clone(&network).deliver());
        let operator = Some(Operator::start(&network));
        Self { network, operator, frozen: None, claims: BTreeSet::new() }
    }

    /// Lets time pass. An operator that died is replaced.
    pub(crate) async fn pass(&mut self, milliseconds: u64) {
        const LOOK: u64 = 1500;
        let mut left = milliseconds;
        while left > 0 {
            let part = left.min(LOOK);
            tokio::time::sleep(Duration::from_millis(part)).await;
            left -= part;
            self.replace_the_dead();
        }
    }

    fn replace_the_dead(&mut self) {
        let is_dead = |it: &Operator| self.network.lock().lives[it.client] == Life::Dead;
        if let Some(frozen) = self.frozen.take_if(|it| is_dead(it)) {
            frozen.kill(&self.network);
        }
        if self.operator.as_ref().is_some_and(is_dead) {
            self.restart();
        }
    }

    pub(crate) fn restart(&mut self) {
        if let Some(operator) = self.operator.take() {
            operator.kill(&self.network);
        }
        self.operator = Some(Operator::start(&self.network));
    }

    pub(crate) async fn play(&mut self, step: &Step) {
        self.pass(step.wait).await;
        self.network.lock().note(format_args!("── {:?}", step.incident));
        match &step.incident {
            Incident::Restart => self.restart(),
            Incident::Freeze { until_takeover } => self.freeze(*until_takeover).await,
            Incident::Thaw { notices_after } => self.thaw(*notices_after).await,
            incident => self.happen(incident),
        }
        self.network.changed();
    }

    async fn freeze(&mut self, until_takeover: u64) {
        if self.frozen.is_some() {
            return;
        }
        let Some(operator) = self.operator.take() else { return };
        operator.freeze(&self.network);
        self.frozen = Some(operator);
        tokio::time::sleep(Duration::from_millis(until_takeover)).await;
        self.operator = Some(Operator::start(&self.network));
    }

    async fn thaw(&mut self, notices_after: u64) {
        let Some(frozen) = self.frozen.take() else { return };
        self.network.lock().thaw();
        self.network.changed();
        tokio::time::sleep(Duration::from_millis(notices_after)).await;
        frozen.kill(&self.network);
    }

    fn happen(&mut self, incident: &Incident) {
        let mut world = self.network.lock();
        match incident {
            Incident::Claim { name, parts, policy } => {
                let name = format!("c{name}");
                let xrd = world.server.get(&user::id("compositeresourcedefinitions", XRD));
                let stays = xrd.is_some_and(|xrd| !is_going(xrd));
                let is_asked_for = world.server.claim(&name, parts, policy);
                let claim = world.server.get(&user::id("apps", &name));
                // A claim that is going goes, whatever is asked of it.
                if is_asked_for && stays && claim.is_some_and(|claim| !is_going(claim)) {
                    self.claims.insert(name);
                }
            }
            Incident::DeleteClaim(name) => {
                let name = format!("c{name}");
                world.server.delete(&user::id("apps", &name), &json!({}));
                self.claims.remove(&name);
            }
            Incident::Xr { parts } => drop(world.server.xr("x", parts)),
            Incident::DeleteXr { place, foreground } => {
                let policy = if *foreground { "Foreground" } else { "Background" };
                let xr = world.server.all("xapps").nth(*place).map(|(id, _)| id.clone());
                xr.map(|id| world.server.delete(&id, &json!({"propagationPolicy": policy})));
            }
            Incident::Pause { plural, place, paused } => {
                let id = world.server.all(plural).nth(*place).map(|(id, _)| id.clone());
                if let Some(id) = id {
                    world.server.pause(&id, *paused);
                }
            }
            Incident::Edition(edition) => world.server.compose(&format!("edition-{edition}")),
            Incident::Paint(colour) => {
                let shelf = user::id("shelves", "s0");
                let colour = format!("colour-{colour}");
                world.server.edit(&shelf, "person", false, |shelf| shelf["spec"]["colour"] = colour.into());
            }
            Incident::DeleteChild(place) => {
                let child = world.server.composed().get(*place).cloned();
                child.map(|id| world.server.delete(&id, &json!({})));
            }
            Incident::EditChild(place) => {
                let child = world.server.composed().get(*place).cloned();
                child.map(|id| {
                    let content = if id.plural == "things" { "spec" } else { "data" };
                    world.server.edit(&id, "person", false, |it| it[content]["colour"] = "by hand".into())
                });
            }
            Incident::Serve { plural, is_served } => world.server.serve(plural, *is_served),
            Incident::DeleteXrd => {
                world.server.delete(&user::id("compositeresourcedefinitions", XRD), &json!({}));
                self.claims.clear();
            }
            Incident::Define => {
                if world.server.get(&user::id("compositeresourcedefinitions", XRD)).is_none() {
                    world.server.define();
                }
            }
            Incident::Weather(weather) => world.weather = *weather,
            Incident::Kill(kill) => world.kill = Some(*kill),
            Incident::SetClock { forward } => world.clock.set_forward(*forward),
            Incident::Restart | Incident::Freeze { .. } | Incident::Thaw { .. } => {}
        }
    }

    /// Faults stop, and people want nothing that is impossible.
    pub(crate) async fn calm(&mut self) {
        self.thaw(2000).await;
        {
            let mut world = self.network.lock();
            world.note("── calm");
            (world.weather, world.kill) = (Weather::default(), None);
            for plural in ["apps", "xapps"] {
                let all: Vec<_> = world.server.all(plural).map(|(id, _)| id.clone()).collect();
                for id in all {
                    world.server.pause(&id, false);
                }
            }
            world.server.serve("shelves", true);
            world.server.serve("things", true);
        }
        self.network.changed();
        self.replace_the_dead();
    }

    /// What operators have written and functions have returned so far.
    pub(crate) fn activity(&self) -> (u64, u64) {
        let world = self.network.lock();
        (world.writes, world.rules.answers)
    }
}
