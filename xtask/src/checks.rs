//! All checks of the repository; each file here is one rule with its reason.

pub(crate) mod file_length;

mod banned_code;
mod biased_select;
mod changelog;
mod comment_words;
mod core_dependencies;
mod core_purity;
mod direction;
mod error_codes;
mod file_sentence;
mod function_length;
mod hash_order;
mod links;
mod lints;
mod machine_paths;
mod registries;
mod sleeps;
mod store_words;

use crate::finding::Finding;
use crate::tree::Tree;

/// Every check; a new one is a file with a `check` function and a line here.
pub(crate) const ALL: &[fn(&Tree) -> Vec<Finding>] = &[
    banned_code::check,
    biased_select::check,
    changelog::check,
    comment_words::check,
    core_dependencies::check,
    core_purity::check,
    direction::check,
    error_codes::check,
    file_length::check,
    file_sentence::check,
    function_length::check,
    hash_order::check,
    lints::check,
    links::check,
    machine_paths::check,
    registries::check,
    sleeps::check,
    store_words::check,
];

/// The findings of a check as lines of text, for tests.
#[cfg(test)]
fn lines(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(ToString::to_string).collect()
}
