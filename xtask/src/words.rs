//! Finding words in text without stumbling over the words that contain them.

/// Where `needle` occurs in `text` with no letter, digit or underscore on either side.
pub(crate) fn find_word(text: &str, needle: &str) -> Option<usize> {
    let is_inside = |c: char| c.is_alphanumeric() || c == '_';
    let bounded = |at: &usize| {
        let before = text[..*at].chars().next_back();
        let after = text[at + needle.len()..].chars().next();
        let runs_on_before = before.is_some_and(is_inside) && needle.starts_with(is_inside);
        let runs_on_after = after.is_some_and(is_inside) && needle.ends_with(is_inside);
        !runs_on_before && !runs_on_after
    };
    text.match_indices(needle).map(|(at, _)| at).find(bounded)
}

/// The words of a line, in lower case; `LeaseId`, `lease_id` and `LEASE-ID` are all `lease`, `id`.
pub(crate) fn split_words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut chars = line.chars().peekable();
    let mut previous_lower = false;
    while let Some(c) = chars.next() {
        // `HTTPServer` parts before the `S`, since a lower-case letter follows it.
        let next_lower = chars.peek().is_some_and(|next| next.is_lowercase());
        let starts = c.is_uppercase() && (previous_lower || next_lower);
        if (starts || !c.is_alphabetic()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphabetic() {
            word.extend(c.to_lowercase());
        }
        previous_lower = c.is_lowercase();
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_found_alone_and_not_inside_another() {
        assert_eq!(find_word("we rand, here", "rand"), Some(3));
        assert_eq!(find_word("random operand rand_core", "rand"), None);
        assert_eq!(find_word("operand rand", "rand"), Some(8));
        assert_eq!(find_word("see issue #12", "issue #"), Some(4));
    }

    #[test]
    fn identifiers_split_into_words() {
        assert_eq!(split_words("LeaseId lease_id LEASE-ID"), ["lease", "id", "lease", "id", "lease", "id"]);
        assert_eq!(split_words("overflow, release: plane"), ["overflow", "release", "plane"]);
        assert_eq!(split_words("HTTPServer v2flow"), ["http", "server", "v", "flow"]);
        assert!(split_words("  12_34 ").is_empty());
    }
}
