//! What a client and its plugins take of the machine, as the kernel counts it: the plugins' peak memory, and the time that
//! either spends on a processor.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use nix::time::ClockId;
use nix::unistd::Pid;

/// How often the kernel is asked. It keeps peak and times itself, so only what a process needs in the end is missed.
const INTERVAL: Duration = Duration::from_millis(10);

/// What was taken.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    /// The largest `VmHWM` of any plugin, in KiB.
    pub(crate) memory: u64,
    /// The processor time of all plugins.
    pub(crate) plugins: Duration,
    /// The processor time of the client itself.
    pub(crate) client: Duration,
}

/// What the process `client` and its plugins take until `ended`.
pub(crate) fn watch(client: u32, ended: &AtomicBool) -> Usage {
    let (mut usage, mut times) = (Usage::default(), HashMap::new());
    while !ended.load(Ordering::Relaxed) {
        usage.client = usage.client.max(time_of(client).unwrap_or_default());
        for plugin in plugins(client) {
            usage.memory = usage.memory.max(peak_of(plugin).unwrap_or_default());
            if let Some(time) = time_of(plugin) {
                times.insert(plugin, time);
            }
        }
        thread::sleep(INTERVAL);
    }
    usage.plugins = times.values().sum();
    usage
}

/// The plugins that a process has started; children belong to the threads that started them.
fn plugins(client: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{client}/task")).into_iter().flatten().flatten();
    let children = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let pids = |list: String| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>();
    // Until it has become the plugin, a new process shares the memory of the one that started it.
    let is_plugin = |pid: &u32| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm"));
        name.is_ok_and(|name| name.starts_with("terraform-provi"))
    };
    children.flat_map(pids).filter(is_plugin).collect()
}

fn peak_of(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// What all threads of a process have spent, also those that have ended, as the scheduler counts it: in nanoseconds.
fn time_of(pid: u32) -> Option<Duration> {
    let clock = ClockId::pid_cpu_clock_id(Pid::from_raw(pid.try_into().ok()?)).ok()?;
    Some(clock.now().ok()?.into())
}
