//! The memory that large messages take, shared by all functions: how many calls are made says nothing about it.
//!
//! A message of a few megabytes becomes a tree of many times its size. Before such a response is read, its call reserves
//! what it may take at worst; once it is read, what it does take. The reservation lasts as long as the caller keeps the
//! response. Small messages are not counted.
//!
//! One function may reserve half of the memory, so the responses of the others are read whatever it returns.

use std::sync::{Arc, Mutex, PoisonError};

use composition::protocol::{Object, RunRequest, RunResponse, State};
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Messages that take less, in memory, are not counted.
const SMALL: usize = 64 << 10;
/// How much more memory than bytes on the wire a response takes at worst: `{"":null}` has eleven bytes, and its map takes over
/// six hundred.
const EXPANSION: usize = 64;
/// What a map allocates for up to eleven entries.
const MAP: usize = 640;
const ENTRIES: usize = 11;
/// What a string allocates beside its text.
const STRING: usize = 16;
/// The unit in which memory is reserved.
const UNIT: usize = 1 << 10;

/// Memory, in bytes, that responses may take together.
#[derive(Clone)]
pub(super) struct Memory {
    free: Arc<Semaphore>,
    size: usize,
}

/// What a caller holds of the memory, for as long as it keeps the last response; dropping it gives the memory back.
#[derive(Default)]
pub struct Reservation(Mutex<Option<Held>>);

struct Held {
    of_function: OwnedSemaphorePermit,
    of_all: OwnedSemaphorePermit,
}

/// There is no memory for a larger response than the caller already keeps. It must not wait: others may wait for what it
/// keeps.
#[derive(Debug)]
pub(super) struct NoMemory;

impl Memory {
    pub(super) fn new(size: usize) -> Self {
        let size = size.max(2 * UNIT);
        Self { free: Arc::new(Semaphore::new(size / UNIT)), size }
    }

    /// What one function may reserve.
    pub(super) fn share(&self) -> Self {
        Self::new(self.size / 2)
    }

    pub(super) const fn size(&self) -> usize {
        self.size
    }
}

impl Reservation {
    /// Whether anything is held.
    pub fn is_empty(&self) -> bool {
        self.held().is_none()
    }

    /// Reserves what a message of `bytes` may take at worst.
    pub(super) async fn reserve(&self, bytes: usize, share: &Memory, all: &Memory) -> Result<(), NoMemory> {
        let worst = bytes.saturating_mul(EXPANSION);
        if worst <= SMALL {
            return Ok(());
        }
        self.hold(worst.min(share.size), share, all).await
    }

    /// Keeps what `response` takes, and gives the rest back.
    pub(super) async fn keep(
        &self,
        response: &RunResponse,
        share: &Memory,
        all: &Memory,
    ) -> Result<(), NoMemory> {
        let size = of_response(response);
        if size <= SMALL {
            *self.held() = None;
            return Ok(());
        }
        if size > share.size {
            return Err(NoMemory);
        }
        self.hold(size, share, all).await?;
        if let Some(held) = &mut *self.held() {
            let needed = size.div_ceil(UNIT);
            for permit in [&mut held.of_function, &mut held.of_all] {
                // What is split off is given back at once.
                drop(permit.split(permit.num_permits().saturating_sub(needed)));
            }
        }
        Ok(())
    }

    /// Holds at least `size` bytes.
    async fn hold(&self, size: usize, share: &Memory, all: &Memory) -> Result<(), NoMemory> {
        let needed = size.div_ceil(UNIT);
        let held = self.held().as_ref().map(|held| held.of_all.num_permits());
        let units = u32::try_from(needed).unwrap_or(u32::MAX);
        let take = |memory: &Memory| Arc::clone(&memory.free);
        let held = match held {
            Some(held) if held >= needed => return Ok(()),
            Some(_) => {
                let grown = take(share).try_acquire_many_owned(units).map_err(|_| NoMemory)?;
                Held {
                    of_function: grown,
                    of_all: take(all).try_acquire_many_owned(units).map_err(|_| NoMemory)?,
                }
            }
            None => {
                let closed = "the semaphore is never closed";
                let of_function = take(share).acquire_many_owned(units).await.expect(closed);
                Held { of_function, of_all: take(all).acquire_many_owned(units).await.expect(closed) }
            }
        };
        *self.held() = Some(held);
        Ok(())
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Option<Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// About how many bytes `request` has on the wire.
pub(super) fn of_request(request: &RunRequest) -> usize {
    let required = request.required_resources.values().chain(request.extra_resources.values()).flatten();
    let objects = required.map(|resource| &resource.object).chain(&request.input).chain(&request.context);
    let schemas = request.required_schemas.values().filter_map(|schema| schema.openapi_v3.as_ref());
    let states = in_state(&request.observed).chain(in_state(&request.desired));
    states.chain(objects).chain(schemas).map(text).sum()
}

/// About how many bytes `response` takes in memory.
fn of_response(response: &RunResponse) -> usize {
    let messages: usize = response.results.iter().map(|result| result.message.len() + STRING).sum();
    let resources = std::iter::once(&response.desired.composite).chain(response.desired.resources.values());
    let details = resources.flat_map(|resource| resource.connection_details.iter());
    let details: usize = details.map(|(key, value)| key.len() + value.len() + MAP / ENTRIES).sum();
    let objects = in_state(&response.desired).chain(&response.context).chain(&response.output);
    objects.map(tree).sum::<usize>() + messages + details
}

fn in_state(state: &State) -> impl Iterator<Item = &Object> {
    std::iter::once(&state.composite.object).chain(state.resources.values().map(|resource| &resource.object))
}

fn text(object: &Object) -> usize {
    fn of(value: &Value) -> usize {
        8 + match value {
            Value::String(text) => text.len(),
            Value::Array(list) => list.iter().map(of).sum(),
            Value::Object(object) => text(object),
            _ => 0,
        }
    }
    object.iter().map(|(key, value)| 4 + key.len() + of(value)).sum()
}

fn tree(object: &Object) -> usize {
    fn of(value: &Value) -> usize {
        match value {
            Value::String(text) => text.len() + STRING,
            Value::Array(list) => list.len() * size_of::<Value>() + list.iter().map(of).sum::<usize>(),
            Value::Object(object) => tree(object),
            _ => 0,
        }
    }
    let entries: usize = object.iter().map(|(key, value)| key.len() + STRING + of(value)).sum();
    object.len().div_ceil(ENTRIES) * MAP + entries
}

#[cfg(test)]
mod tests;
