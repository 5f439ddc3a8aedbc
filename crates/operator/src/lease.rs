//! The lease that lets one copy of the operator run controllers, and the others wait for their turn.
//!
//! As with client-go, no clocks of others are believed: a lease is free when it has not been renewed for as long as it
//! says, by our own watch. Whoever cannot renew in two thirds of that time stops, so that a third is left to end in.

use std::time::Duration;

use cluster::{Selection, Session};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::{Api, PostParams};
use manifest::Namespace;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::backoff;
use crate::rivals::lease_kind;
use crate::said::chain;
use crate::store::{Changes, Source, Store};

/// The lease of all copies of the operator.
pub(crate) const NAME: &str = "plimsoll-operator";
/// The waits after attempts that the API server did not answer.
const FIRST_RETRY: Duration = Duration::from_millis(500);
const LONGEST_RETRY: Duration = Duration::from_secs(2);
/// How long giving the lease back may take before it is left to expire.
const RELEASE: Duration = Duration::from_secs(5);

/// Who takes part, and for what.
#[derive(Clone)]
pub(crate) struct Candidate {
    pub(crate) session: Session,
    pub(crate) namespace: Namespace,
    /// Unlike that of any other copy, of this program's earlier runs as well.
    pub(crate) identity: String,
    pub(crate) duration: Duration,
}

/// The lease is ours.
pub(crate) struct Term {
    candidate: Candidate,
    /// As it was last stored.
    lease: Lease,
    /// When its last renewal was sent; by then, at the earliest, others began to count.
    renewed: Instant,
}

/// Why a term has ended.
#[derive(Debug)]
pub(crate) struct Lost {
    pub(crate) why: String,
    /// Until then nobody else begins a term.
    pub(crate) until: Instant,
}

impl Candidate {
    /// Waits for the lease and takes it. Trouble with the cluster is waited out.
    pub(crate) async fn win(&self) -> Term {
        let stop = CancellationToken::new();
        let _ending = stop.clone().drop_guard();
        let store = Store::start(self.session.clone(), self.source(), &stop);
        store.synced().await;
        let mut changes = store.subscribe();
        let mut failures = 0;
        let mut named = None;
        loop {
            let seen = Instant::now();
            // What has happened so far is in what is read next.
            while changes.try_recv().is_ok() {}
            let known = store.get(Some(self.namespace.as_str()), NAME);
            let lease: Option<Lease> = known.and_then(|lease| serde_json::from_value((*lease).clone()).ok());
            if let Some(wait) = lease.as_ref().and_then(|lease| self.occupied_for(lease)) {
                let holder = lease.as_ref().and_then(|lease| lease.spec.as_ref()?.holder_identity.clone());
                if holder != named {
                    tracing::info!(holder, "another copy of the operator runs; waiting for its lease");
                    named = holder;
                }
                if !expires_unchanged(&mut changes, seen + wait).await {
                    continue;
                }
            }
            let sent = Instant::now();
            match self.take(lease).await {
                Ok(lease) => return Term { candidate: self.clone(), lease, renewed: sent },
                // Somebody was faster, which the store is about to hear.
                Err(kube::Error::Api(status)) if status.code == 409 => {
                    tokio::time::timeout(FIRST_RETRY, changes.recv()).await.ok();
                }
                Err(error) => {
                    failures += 1;
                    tracing::warn!(error = chain(&error), "the lease cannot be taken; trying again");
                    tokio::time::sleep(backoff::pause(failures, FIRST_RETRY, LONGEST_RETRY)).await;
                }
            }
        }
    }

    fn source(&self) -> Source {
        let selection = Selection {
            namespace: Some(self.namespace.clone()),
            fields: Some(format!("metadata.name={NAME}")),
            ..Selection::default()
        };
        Source { selection, ..Source::of(lease_kind()) }
    }

    /// For how long, from when it was seen, a lease keeps others out; `None` if it does not.
    fn occupied_for(&self, lease: &Lease) -> Option<Duration> {
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
        let metadata = ObjectMeta { name: Some(NAME.to_owned()), ..ObjectMeta::default() };
        self.api().create(&PostParams::default(), &Lease { metadata, spec: Some(spec) }).await
    }

    /// Stores a lease, unless it was changed since it was read.
    async fn replace(&self, lease: &Lease) -> Result<Lease, kube::Error> {
        self.api().replace(NAME, &PostParams::default(), lease).await
    }

    fn api(&self) -> Api<Lease> {
        Api::namespaced(self.session.client().clone(), self.namespace.as_str())
    }

    fn seconds(&self) -> i32 {
        i32::try_from(self.duration.as_secs().max(1)).unwrap_or(i32::MAX)
    }
}

/// Waits until `end`; whether nothing was heard of the lease by then.
async fn expires_unchanged(changes: &mut Changes, end: Instant) -> bool {
    tokio::time::timeout_at(end, changes.recv()).await.is_err()
}

impl Term {
    /// Renews the lease for as long as it can; how it ended. Asking may be given up and begun again at any time.
    pub(crate) async fn keep(&mut self) -> Lost {
        loop {
            let third = self.candidate.duration / 3;
            tokio::time::sleep_until(self.renewed + backoff::jittered(third)).await;
            if let Err(lost) = self.renew(self.renewed + third * 2).await {
                return lost;
            }
        }
    }

    /// Renews the lease once, trying again until `deadline`.
    async fn renew(&mut self, deadline: Instant) -> Result<(), Lost> {
        let mut failures = 0;
        loop {
            let sent = Instant::now();
            let why = match tokio::time::timeout_at(deadline, self.attempt()).await {
                Ok(Ok(Some(lease))) => {
                    (self.lease, self.renewed) = (lease, sent);
                    return Ok(());
                }
                Ok(Ok(None)) => {
                    return Err(Lost { why: "another copy has taken the lease".to_owned(), until: sent });
                }
                Ok(Err(error)) => chain(&error),
                Err(_) => "the API server did not answer in time".to_owned(),
            };
            failures += 1;
            let pause = backoff::pause(failures, FIRST_RETRY, LONGEST_RETRY);
            if Instant::now() + pause >= deadline {
                return Err(Lost { why, until: self.renewed + self.candidate.duration });
            }
            tracing::warn!(why, "the lease could not be renewed; trying again");
            tokio::time::sleep(pause).await;
        }
    }

    /// One attempt to renew; `None` if the lease is not ours any more.
    async fn attempt(&self) -> Result<Option<Lease>, kube::Error> {
        let ours = self.lease.clone();
        match self.candidate.replace(&renewed(ours)).await {
            Err(kube::Error::Api(status)) if status.code == 409 => {
                // Either an attempt whose answer never came did succeed, or somebody else has changed the lease.
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
        let lease = self.candidate.api().get_opt(NAME).await?;
        Ok(lease.filter(|lease| {
            let holder = lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref());
            holder == Some(&self.candidate.identity)
        }))
    }

    /// Gives the lease back, so that another copy need not wait until it has expired.
    pub(crate) async fn release(self) {
        let give_back = async {
            // Read anew: a renewal may have been given up half way.
            let Some(lease) = self.current().await? else { return Ok(()) };
            let mut lease = renewed(lease);
            let spec = lease.spec.get_or_insert_default();
            spec.holder_identity = None;
            // What client-go writes, whose waiting copies count this time.
            spec.lease_duration_seconds = Some(1);
            self.candidate.replace(&lease).await.map(|_| ())
        };
        match tokio::time::timeout(RELEASE, give_back).await {
            Ok(Ok(())) => tracing::info!("the lease is given back"),
            Ok(Err(error)) => {
                tracing::warn!(error = chain(&error), "the lease is not given back and will expire");
            }
            Err(_) => tracing::warn!("the lease is not given back in time and will expire"),
        }
    }
}

fn renewed(mut lease: Lease) -> Lease {
    lease.spec.get_or_insert_default().renew_time = Some(MicroTime(Timestamp::now()));
    lease
}

#[cfg(test)]
mod tests;
