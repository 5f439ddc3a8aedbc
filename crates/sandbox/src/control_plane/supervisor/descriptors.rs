//! File descriptors inherited from the parent process.

use std::fs;
use std::os::fd::RawFd;

/// O_CLOEXEC, as `/proc/self/fdinfo/N` shows it.
const CLOSE_ON_EXEC: u32 = 0o2_000_000;

/// Closes every inherited descriptor except the standard streams: a script that reads such a pipe to its end would
/// otherwise wait for the sandbox to stop.
pub(super) fn close_inherited() {
    let Ok(entries) = fs::read_dir("/proc/self/fd") else { return };
    let numbers: Vec<RawFd> =
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    for number in numbers.into_iter().filter(|number| *number > 2) {
        let info = fs::read_to_string(format!("/proc/self/fdinfo/{number}")).unwrap_or_default();
        // Descriptors that this process has opened itself carry the flag and stay open.
        if flags(&info).is_some_and(|flags| flags & CLOSE_ON_EXEC == 0) {
            // The only possible error is that it is already closed.
            let _ = nix::unistd::close(number);
        }
    }
}

fn flags(info: &str) -> Option<u32> {
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
    u32::from_str_radix(flags.trim(), 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_octal() {
        assert_eq!(flags("pos:\t0\nflags:\t02100001\nmnt_id:\t15\n"), Some(0o2_100_001));
        assert_eq!(flags("pos:\t0\n"), None);
    }
}
