//! A map that can be queried but not iterated, so that nothing depends on the order of its hasher.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;

/// A hash map without iteration.
///
/// Callers choose some of the keys. The hasher is fast rather than safe from deliberate collisions; each process seeds
/// it differently, and the maps are bounded.
pub(crate) struct Lookup<K, V>(HashMap<K, V, foldhash::fast::RandomState>);

impl<K, V> fmt::Debug for Lookup<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lookup of {}", self.0.len())
    }
}

impl<K, V> Default for Lookup<K, V> {
    fn default() -> Self {
        Self(HashMap::default())
    }
}

impl<K: Eq + Hash, V> Lookup<K, V> {
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.0.get(key)
    }

    /// Inserts a value and returns the previous one.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.0.insert(key, value)
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        self.0.remove(key)
    }

    pub(crate) fn remove_entry(&mut self, key: &K) -> Option<(K, V)> {
        self.0.remove_entry(key)
    }

    /// Removes all entries and keeps the capacity.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
