//! A disk that is full: the messages say so, and once there is space again, everything works.

use crate::cache::{GO, user_with_go};
use crate::harness::User;

/// Fills the disk, to the last byte.
const FILL: &str = "cat /dev/zero > \"$disk/filler\" 2> /dev/null";
const NO_SPACE: &str = "No space left on device (os error 28)";

/// Checks that the parts of `output`, which `== ` separates, contain these texts.
fn check(output: &str, expected: &[&[&str]]) {
    let parts: Vec<&str> = output.split("== ").collect();
    assert_eq!(parts.len(), expected.len(), "{output}");
    for (part, texts) in parts.iter().zip(expected) {
        for text in *texts {
            assert!(part.contains(text), "{text:?} is missing in {part}");
        }
    }
}

#[test]
fn a_sandbox_on_a_full_disk_is_reported_and_leaves_nothing_behind() {
    let user = User::with_stand_ins(&[]);
    let script = format!(
        "{FILL}; $plimsoll sandbox up --detach; echo \"== $?\" >&2; $plimsoll sandbox status >&2; rm \"$disk/filler\"
        echo '== again' >&2; $plimsoll sandbox up --detach --timeout 2s; $plimsoll sandbox down"
    );
    let Some(ran) = user.run_on_small_disk("state", "1m", &script) else { return };
    let expected: [&[&str]; 3] = [
        &["error[sandbox-files]: cannot write to FOLDER/state/plimsoll/sandbox/default", NO_SPACE],
        &["1\n", "sandbox default does not exist"],
        &["kube-apiserver was not ready in time", "stopped sandbox default"],
    ];
    check(&ran.stderr(), &expected);
}

#[test]
fn a_sandbox_that_fills_the_disk_fails_and_can_be_removed() {
    let user = User::with_stand_ins(&[("etcd", ": > etcd.sock; cat /dev/zero > filler; exit 1")]);
    let script = "$plimsoll sandbox up --detach; echo \"== $?\" >&2; $plimsoll sandbox down
        echo \"== left: $(ls -A \"$disk/plimsoll/sandbox\")\" >&2";
    let Some(ran) = user.run_on_small_disk("state", "1m", script) else { return };
    let expected: [&[&str]; 3] =
        [&["sandbox default did not start"], &["1\n", "stopped sandbox default"], &["left: \n"]];
    check(&ran.stderr(), &expected);
}

#[test]
fn a_build_that_fills_the_cache_is_reported_and_repeated() {
    let user = user_with_go(&GO.replace("#!/bin/sh\n", "#!/bin/sh\nset -e\n"));
    let script = format!(
        "{FILL}; truncate -s -40k \"$disk/filler\"; $plimsoll sandbox up --detach; echo \"== $?\" >&2; rm \"$disk/filler\"
        $plimsoll sandbox up --detach --timeout 10ms"
    );
    let Some(ran) = user.run_on_small_disk("cache", "1m", &script) else { return };
    let expected: [&[&str]; 2] =
        [&["error[sandbox-files]: cannot write to the cache folder", NO_SPACE], &["built control-plane in"]];
    check(&ran.stderr(), &expected);
}
