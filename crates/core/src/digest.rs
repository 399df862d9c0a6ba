//! Hashes of what callers give, which must not be forged: SHA-256.

use sha2::{Digest, Sha256};

/// The first 128 bits of the SHA-256 of parts that cannot run into each other. Stable for ever: ids, placements and
/// fingerprints that follow from it are stored.
#[must_use]
pub fn digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u128 {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().take(16).fold(0, |word, byte| word << 8 | u128::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_into_each_other_and_the_hash_is_stable() {
        let of = |parts: &[&str]| digest(parts.iter().map(|part| part.as_bytes()));
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&["", "a"]), of(&["a", ""]));
        assert_eq!(of(&[]), 0xe3b0_c442_98fc_1c14_9afb_f4c8_996f_b924, "the SHA-256 of nothing");
    }
}
