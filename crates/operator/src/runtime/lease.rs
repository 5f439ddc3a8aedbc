//! Leader election: the copy of the operator that holds the lease runs controllers, the others wait.
//!
//! As in client-go, clocks of other machines do not count: a lease is free when it has not changed for its duration by our
//! own clock. A leader that cannot renew for two thirds of the duration stops, which leaves a third to end in.

use std::time::Duration;

use backoff::{Backoff, Jitter};
use cluster::{Selection, Session};
use diag::error_chain;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::{Api, PostParams};
use manifest::{GroupVersionKind, Namespace};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::leadership::Leadership;
use super::metrics::Metrics;
use super::store::{Changes, Key, Source, Store};

/// The lease that the copies of an operator for all objects compete for.
pub(crate) const NAME: &str = "plimsoll-operator";
/// How soon to look again after another copy took the lease first.
const AFTER_CONFLICT: Duration = Duration::from_millis(500);
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_secs(2));
/// How many attempts to renew fit into the time before the term is lost, even if none of them is answered.
const ATTEMPTS: u32 = 4;
/// How long releasing the lease may take before it is left to expire.
const RELEASE: Duration = Duration::from_secs(5);

/// A copy of the operator that competes for the lease.
#[derive(Clone)]
pub(crate) struct Candidate {
    pub(crate) session: Session,
    pub(crate) namespace: Namespace,
    /// The name of the lease.
    pub(crate) name: String,
    /// Unique among copies and among earlier runs of this one.
    pub(crate) identity: String,
    pub(crate) duration: Duration,
    /// What controllers may write by, which lasts as long as the lease.
    pub(crate) leadership: Leadership,
    pub(crate) metrics: Metrics,
}

/// A term of leadership: this copy holds the lease.
pub(crate) struct Term {
    candidate: Candidate,
    /// As it was last stored.
    lease: Lease,
    /// When the last renewal was sent; other copies count its expiry from then at the earliest.
    renewed: Instant,
}

/// Why a term ended.
#[derive(Debug)]
pub(crate) struct Lost {
    pub(crate) why: String,
    /// No other copy begins a term before.
    pub(crate) until: Instant,
}

pub(crate) fn lease_kind() -> GroupVersionKind {
    let version = "coordination.k8s.io/v1".parse().expect("a valid version");
    GroupVersionKind::new(version, "Lease").expect("a valid kind")
}

impl Candidate {
    /// Waits for the lease and takes it, through all errors.
    pub(crate) async fn acquire(&self) -> Term {
        let stop = CancellationToken::new();
        let _ending = stop.clone().drop_guard();
        let store = Store::start(self.session.clone(), self.source(), &self.metrics, &stop);
        store.wait_until_synced().await;
        let mut changes = store.subscribe();
        let mut failures = 0;
        let mut logged = None;
        loop {
            let seen = Instant::now();
            // The store already has these.
            while changes.try_recv().is_some() {}
            let namespace = Some(self.namespace.as_str().to_owned());
            let known = store.get(&Key { namespace, name: self.name.clone() });
            let lease: Option<Lease> = known.and_then(|lease| serde_json::from_value((*lease).clone()).ok());
            if let Some(wait) = lease.as_ref().and_then(|lease| self.held_for(lease)) {
                let holder = lease.as_ref().and_then(|lease| lease.spec.as_ref()?.holder_identity.clone());
                if holder != logged {
                    tracing::info!(holder, "another copy of the operator leads; waiting for its lease");
                    logged = holder;
                }
                if !expires_unchanged(&mut changes, seen + wait).await {
                    continue;
                }
            }
            let sent = Instant::now();
            match self.take(lease).await {
                Ok(lease) => {
                    self.leadership.ends(sent + self.duration);
                    return Term { candidate: self.clone(), lease, renewed: sent };
                }
                // Another copy took it; the store is about to receive the change.
                Err(kube::Error::Api(status)) if status.code == 409 => {
                    tokio::time::timeout(AFTER_CONFLICT, changes.recv()).await.ok();
                }
                Err(error) => {
                    failures += 1;
                    tracing::warn!(error = error_chain(&error), "cannot take the lease; retrying");
                    tokio::time::sleep(BACKOFF.after(failures, Jitter::random())).await;
                }
            }
        }
    }

    fn source(&self) -> Source {
        let selection = Selection {
            namespace: Some(self.namespace.clone()),
            fields: Some(format!("metadata.name={}", self.name)),
            ..Selection::default()
        };
        Source { selection, ..Source::of(lease_kind()) }
    }

    /// How long another copy holds `lease`, counted from when it was seen; `None` if it is free or ours.
    fn held_for(&self, lease: &Lease) -> Option<Duration> {
        let spec = lease.spec.as_ref()?;
        let holder = spec.holder_identity.as_deref().unwrap_or_default();
        if holder.is_empty() || holder == self.identity {
            return None;
        }
        let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
        Some(seconds.map_or(self.duration, Duration::from_secs))
    }

    async fn take(&self, lease: Option<Lease>) -> Result<Lease, kube::Error> {
        let now = MicroTime(Timestamp::now());
        let before = lease.as_ref().and_then(|lease| lease.spec.clone()).unwrap_or_default();
        let is_ours = before.holder_identity.as_deref() == Some(&self.identity);
        let transitions =
            before.lease_transitions.unwrap_or_default() + i32::from(lease.is_some() && !is_ours);
        let spec = LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: Some(self.seconds()),
            acquire_time: Some(now.clone()),
            renew_time: Some(now),
            lease_transitions: Some(transitions),
            ..LeaseSpec::default()
        };
        if let Some(lease) = lease {
            return self.replace(&Lease { spec: Some(spec), ..lease }).await;
        }
        let metadata = ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() };
        self.api().create(&PostParams::default(), &Lease { metadata, spec: Some(spec) }).await
    }

    /// Stores a lease; a conflict if it has changed since it was read.
    async fn replace(&self, lease: &Lease) -> Result<Lease, kube::Error> {
        self.api().replace(&self.name, &PostParams::default(), lease).await
    }

    fn api(&self) -> Api<Lease> {
        Api::namespaced(self.session.client().clone(), self.namespace.as_str())
    }

    fn seconds(&self) -> i32 {
        i32::try_from(self.duration.as_secs().max(1)).unwrap_or(i32::MAX)
    }
}

/// Waits until `end`; whether the lease did not change by then.
async fn expires_unchanged(changes: &mut Changes, end: Instant) -> bool {
    tokio::time::timeout_at(end, changes.recv()).await.is_err()
}

impl Term {
    /// Renews the lease until it is lost. The future may be dropped and called again at any time.
    pub(crate) async fn keep(&mut self) -> Lost {
        loop {
            let third = self.candidate.duration / 3;
            tokio::time::sleep_until(self.renewed + Jitter::random().sooner(third)).await;
            if let Err(lost) = self.renew(self.renewed + third * 2).await {
                return lost;
            }
        }
    }

    /// Renews the lease once, with retries until `deadline`.
    async fn renew(&mut self, deadline: Instant) -> Result<(), Lost> {
        let mut failures = 0;
        loop {
            let sent = Instant::now();
            // One dead connection must not take all the time there is.
            let limit = (sent + self.candidate.duration / 3 / ATTEMPTS).min(deadline);
            let why = match tokio::time::timeout_at(limit, self.attempt()).await {
                Ok(Ok(Some(lease))) => {
                    (self.lease, self.renewed) = (lease, sent);
                    self.candidate.leadership.ends(sent + self.candidate.duration);
                    return Ok(());
                }
                Ok(Ok(None)) => {
                    self.candidate.leadership.ends(sent);
                    return Err(Lost { why: "another copy has taken the lease".to_owned(), until: sent });
                }
                Ok(Err(error)) => error_chain(&error),
                Err(_) => {
                    self.candidate.session = self.candidate.session.reconnect();
                    "the API server did not answer in time".to_owned()
                }
            };
            failures += 1;
            let wait = BACKOFF.after(failures, Jitter::random());
            if Instant::now() + wait >= deadline {
                return Err(Lost { why, until: self.renewed + self.candidate.duration });
            }
            tracing::warn!(why, "cannot renew the lease; retrying");
            tokio::time::sleep(wait).await;
        }
    }

    /// One attempt to renew; `None` if the lease is no longer ours.
    async fn attempt(&self) -> Result<Option<Lease>, kube::Error> {
        let ours = self.lease.clone();
        match self.candidate.replace(&renewed(ours)).await {
            Err(kube::Error::Api(status)) if status.code == 409 => {
                // Either an attempt whose response was lost succeeded, or another copy changed the lease.
                match self.current().await? {
                    Some(lease) => self.candidate.replace(&renewed(lease)).await.map(Some),
                    None => Ok(None),
                }
            }
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            renewed => renewed.map(Some),
        }
    }

    /// The lease as it is now, if it is ours.
    async fn current(&self) -> Result<Option<Lease>, kube::Error> {
        let lease = self.candidate.api().get_opt(&self.candidate.name).await?;
        Ok(lease.filter(|lease| {
            let holder = lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref());
            holder == Some(&self.candidate.identity)
        }))
    }

    /// Releases the lease, so that another copy need not wait until it expires.
    pub(crate) async fn release(self) {
        let released = async {
            // Read again: a renewal may have been dropped before its response.
            let Some(lease) = self.current().await? else { return Ok(()) };
            let mut lease = renewed(lease);
            let spec = lease.spec.get_or_insert_default();
            spec.holder_identity = None;
            // As client-go does, whose waiting copies wait for this long.
            spec.lease_duration_seconds = Some(1);
            self.candidate.replace(&lease).await.map(|_| ())
        };
        match tokio::time::timeout(RELEASE, released).await {
            Ok(Ok(())) => tracing::info!("released the lease"),
            Ok(Err(error)) => {
                tracing::warn!(error = error_chain(&error), "cannot release the lease; it will expire");
            }
            Err(_) => tracing::warn!("releasing the lease took too long; it will expire"),
        }
    }
}

fn renewed(mut lease: Lease) -> Lease {
    lease.spec.get_or_insert_default().renew_time = Some(MicroTime(Timestamp::now()));
    lease
}

#[cfg(test)]
mod tests;
