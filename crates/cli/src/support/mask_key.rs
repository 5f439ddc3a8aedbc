//! The key that masks the values of Secrets in this run. Output of another run has other masks, so that logs cannot be
//! compared with each other or with guesses.

use std::sync::LazyLock;

use manifest::secret::MaskKey;

pub(crate) static MASK_KEY: LazyLock<MaskKey> = LazyLock::new(random_key);

/// A key that no other run has.
pub(crate) fn random_key() -> MaskKey {
    let mut random = [0; 16];
    aws_lc_rs::rand::fill(&mut random).expect("the system has random numbers");
    MaskKey::new(u128::from_be_bytes(random))
}
