//! The peak memory of the plugins that a client starts, as the kernel counts it.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// How often the kernel is asked. It keeps the peak itself, so only what a process needs on its last few steps is missed.
const INTERVAL: Duration = Duration::from_millis(10);

/// The largest `VmHWM` of any plugin of the process `client`, in KiB, until `ended`.
pub(crate) fn watch(client: u32, ended: &AtomicBool) -> u64 {
    let mut peak = 0;
    while !ended.load(Ordering::Relaxed) {
        peak = plugins(client).filter_map(peak_of).fold(peak, u64::max);
        thread::sleep(INTERVAL);
    }
    peak
}

/// The children of a process belong to the threads that started them.
fn plugins(client: u32) -> impl Iterator<Item = u32> {
    let threads = fs::read_dir(format!("/proc/{client}/task")).into_iter().flatten().flatten();
    let children = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let pids = |list: String| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>();
    children.flat_map(pids)
}

fn peak_of(pid: u32) -> Option<u64> {
    let process = Path::new("/proc").join(pid.to_string());
    // Until it has become the plugin, a new process shares the memory of the one that started it.
    let name = fs::read_to_string(process.join("comm")).ok()?;
    if !name.starts_with("terraform-provi") {
        return None;
    }
    let status = fs::read_to_string(process.join("status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}
