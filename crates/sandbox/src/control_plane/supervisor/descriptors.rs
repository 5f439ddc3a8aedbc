//! Descriptors that this process was born with.

use std::fs;
use std::os::fd::RawFd;

/// The bit in `/proc/self/fdinfo/N` that says a descriptor is not passed on to other programs (O_CLOEXEC).
const CLOSE_ON_EXEC: u32 = 0o2_000_000;

/// Closes every descriptor but the standard streams that whoever started us has passed on, by accident: a script that
/// reads a pipe to its end would wait for the sandbox to end.
pub(super) fn close_inherited() {
    let Ok(entries) = fs::read_dir("/proc/self/fd") else { return };
    let numbers: Vec<RawFd> =
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
    for number in numbers.into_iter().filter(|number| *number > 2) {
        let info = fs::read_to_string(format!("/proc/self/fdinfo/{number}")).unwrap_or_default();
        // What this process has opened itself carries the bit, so it is not touched.
        if flags(&info).is_some_and(|flags| flags & CLOSE_ON_EXEC == 0) {
            // The only error is that it is closed already.
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
