//! The policy of an execution: retries, timeouts and retention.

use crate::ids::mix;
use crate::reason::cut;
use crate::record::formats;
use crate::{Json, Rejection, Span, limits};
use serde::{Deserialize, Deserializer, Serialize};
use std::sync::Arc;

/// Retries, timeouts and retention of an execution; fixed when it is submitted.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Policy {
    /// Retries of failed attempts; 20 retries with growing pauses, up to nine hours in all, when absent.
    pub retry: Option<RetryPolicy>,
    /// Maximum running time of an attempt, regardless of lease renewals; unlimited when absent.
    pub attempt_timeout: Option<Span>,
    /// Maximum number of attempts after lost leases; 100 when absent.
    #[cfg_attr(feature = "openapi", schema(maximum = 10000))]
    pub max_reclaims: Option<u32>,
    /// Maximum number of replays; 10 when absent.
    #[cfg_attr(feature = "openapi", schema(maximum = 1000))]
    pub max_replays: Option<u32>,
    /// Time that the execution is stored after it has ended; a week when absent.
    pub retention: Option<Span>,
    /// Time that the idempotency key is stored; a day when absent.
    pub dedup_window: Option<Span>,
    /// What happens when an attempt fails and no retry is left; the execution fails when absent.
    pub on_exhausted: Option<OnExhausted>,
}

/// What happens when an attempt fails and no retry is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum OnExhausted {
    /// The execution fails or expires.
    Fail,
    /// The execution is held for an operator, who resumes it for one more attempt, replays or cancels it.
    Pause,
}

impl Policy {
    /// Whether the execution is held for an operator when no retry is left.
    #[must_use]
    pub fn pauses_when_exhausted(&self) -> bool {
        self.on_exhausted == Some(OnExhausted::Pause)
    }

    /// Whether every field is absent, so that it is not stored.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Retries of failed attempts.
    #[must_use]
    pub fn retry(&self) -> RetryPolicy {
        self.retry.clone().unwrap_or_default()
    }

    /// Maximum number of attempts after lost leases.
    #[must_use]
    pub fn max_reclaims(&self) -> u32 {
        self.max_reclaims.unwrap_or(limits::RECLAIMS_DEFAULT)
    }

    /// Maximum number of replays.
    #[must_use]
    pub fn max_replays(&self) -> u32 {
        self.max_replays.unwrap_or(limits::REPLAYS_DEFAULT)
    }

    /// Time that the execution is stored after it has ended.
    #[must_use]
    pub fn retention(&self) -> Span {
        self.retention.unwrap_or(limits::RETENTION_DEFAULT)
    }

    /// Time that the idempotency key is stored.
    #[must_use]
    pub fn dedup_window(&self) -> Span {
        self.dedup_window.unwrap_or(limits::DEDUP_WINDOW_DEFAULT)
    }

    /// Fills absent fields from `others`.
    pub(crate) fn or(self, others: &Self) -> Self {
        Self {
            retry: self.retry.or_else(|| others.retry.clone()),
            attempt_timeout: self.attempt_timeout.or(others.attempt_timeout),
            max_reclaims: self.max_reclaims.or(others.max_reclaims),
            max_replays: self.max_replays.or(others.max_replays),
            retention: self.retention.or(others.retention),
            dedup_window: self.dedup_window.or(others.dedup_window),
            on_exhausted: self.on_exhausted.or(others.on_exhausted),
        }
    }

    pub(crate) fn check(&self) -> Result<(), Rejection> {
        if let Some(retry) = &self.retry {
            retry.check()?;
        }
        within("attempt_timeout", self.attempt_timeout, limits::ATTEMPT_TIMEOUT_MIN, limits::ATTEMPT_TIMEOUT_MAX)?;
        within("retention", self.retention, limits::RETENTION_MIN, limits::RETENTION_MAX)?;
        within("dedup_window", self.dedup_window, limits::DEDUP_WINDOW_MIN, limits::DEDUP_WINDOW_MAX)?;
        for (field, asked, most) in [
            ("max_reclaims", self.max_reclaims, limits::RECLAIMS_MAX),
            ("max_replays", self.max_replays, limits::REPLAYS_MAX),
        ] {
            if let Some(asked) = asked.filter(|asked| *asked > most) {
                return Err(Rejection::invalid(field, format!("must be at most {most}, is {asked}")));
            }
        }
        Ok(())
    }
}

fn within(field: &'static str, span: Option<Span>, low: Span, high: Span) -> Result<(), Rejection> {
    match span {
        Some(span) if !(low..=high).contains(&span) => {
            Err(Rejection::invalid(field, format!("must be between {low} and {high}, is {span}")))
        }
        _ => Ok(()),
    }
}

/// Number of retries, and the pauses before them. Each pause is twice the one before, up to the longest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(from = "RetryFields")]
pub struct RetryPolicy {
    /// Maximum number of retries; 20 when absent, which last up to nine hours with the other defaults.
    #[cfg_attr(feature = "openapi", schema(maximum = 1000, required = false))]
    pub max_retries: u32,
    /// Pause before the first retry; a second when absent.
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub first_pause: Span,
    /// Longest pause; an hour when absent. It is at least `first_pause`.
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub longest_pause: Span,
    /// Whether each pause is random between half its length and all of it, so that many failures are not retried at once; true
    /// when absent.
    #[cfg_attr(feature = "openapi", schema(required = false))]
    pub jitter: bool,
    /// Categories that are retried; all when empty. `permanent` and `cancelled` are never retried.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(max_items = 16, required = false))]
    pub categories: Vec<Category>,
}

/// A retry policy in a request; absent fields take their defaults.
#[derive(Deserialize)]
struct RetryFields {
    max_retries: Option<u32>,
    first_pause: Option<Span>,
    longest_pause: Option<Span>,
    jitter: Option<bool>,
    #[serde(default, deserialize_with = "crate::text::or_default")]
    categories: Vec<Category>,
}

impl From<RetryFields> for RetryPolicy {
    fn from(fields: RetryFields) -> Self {
        let usual = Self::default();
        Self {
            max_retries: fields.max_retries.unwrap_or(usual.max_retries),
            first_pause: fields.first_pause.unwrap_or(usual.first_pause),
            longest_pause: fields.longest_pause.unwrap_or(usual.longest_pause),
            jitter: fields.jitter.unwrap_or(usual.jitter),
            categories: fields.categories,
        }
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_retries: limits::RETRIES_DEFAULT,
            first_pause: Span::seconds(1),
            longest_pause: Span::hours(1),
            jitter: true,
            categories: Vec::new(),
        }
    }
}

impl RetryPolicy {
    /// Never retries.
    #[must_use]
    pub fn never() -> Self {
        Self { max_retries: 0, ..Self::default() }
    }

    /// Retries up to `max_retries` times, each after the same pause.
    #[must_use]
    pub fn fixed(max_retries: u32, pause: Span) -> Self {
        Self { max_retries, first_pause: pause, longest_pause: pause, jitter: false, ..Self::default() }
    }

    /// Whether a failure of this category may be retried at all.
    #[must_use]
    pub fn covers(&self, category: &Category) -> bool {
        !category.is_final() && (self.categories.is_empty() || self.categories.contains(category))
    }

    /// The pause before retry number `retry` (the first is 0); the seed decides when it is drawn at random.
    #[must_use]
    pub fn pause(&self, retry: u32, seed: u64) -> Span {
        let (first, longest) = (self.first_pause.0, self.longest_pause.max(self.first_pause).0);
        let doubled = first.checked_shl(retry).filter(|span| span >> retry == first);
        let span = doubled.unwrap_or(u64::MAX).min(longest);
        if self.jitter { Span(span - mix(seed) % (span / 2 + 1)) } else { Span(span) }
    }

    fn check(&self) -> Result<(), Rejection> {
        if self.max_retries > limits::RETRIES_MAX {
            let why = format!("must be at most {}, is {}", limits::RETRIES_MAX, self.max_retries);
            return Err(Rejection::invalid("max_retries", why));
        }
        if self.categories.len() > limits::CATEGORIES_MAX {
            let why = format!("must be at most {} categories", limits::CATEGORIES_MAX);
            return Err(Rejection::invalid("categories", why));
        }
        for (field, pause) in [("first_pause", self.first_pause), ("longest_pause", self.longest_pause)] {
            if pause > limits::BACKOFF_MAX {
                return Err(Rejection::invalid(field, format!("must be at most {}, is {pause}", limits::BACKOFF_MAX)));
            }
        }
        Ok(())
    }
}

/// Category of a failure; `permanent` and `cancelled` are never retried.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Category(Arc<str>);

impl<'de> Deserialize<'de> for Category {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::text::decode(deserializer, "a category", Self::new)
    }
}

impl Category {
    /// A category of the caller's own. Characters outside the alphabet are refused.
    ///
    /// # Errors
    /// When it is empty, too long or not made of lower-case letters, digits and `_`.
    pub fn new(text: &str) -> Result<Self, Rejection> {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        if text.is_empty() || text.len() > limits::CATEGORY_BYTES_MAX || !text.bytes().all(fits) {
            let why = format!("must have 1 to {} lower-case letters, digits and '_'", limits::CATEGORY_BYTES_MAX);
            return Err(Rejection::invalid("category", why));
        }
        Ok(Self(text.into()))
    }

    /// May pass by itself: retried.
    #[must_use]
    pub fn transient() -> Self {
        Self("transient".into())
    }

    /// Will not pass: never retried.
    #[must_use]
    pub fn permanent() -> Self {
        Self("permanent".into())
    }

    /// The handler panicked.
    #[must_use]
    pub fn panic() -> Self {
        Self("panic".into())
    }

    /// The attempt ran for too long.
    #[must_use]
    pub fn timeout() -> Self {
        Self("timeout".into())
    }

    /// The engine gave up, for instance after too many lost leases.
    #[must_use]
    pub fn engine() -> Self {
        Self("engine".into())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn is_final(&self) -> bool {
        matches!(&*self.0, "permanent" | "cancelled")
    }
}

/// Why an attempt failed.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Failure {
    /// Category, which decides about retries.
    pub category: Category,
    /// Message for people, truncated to 1 KiB.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub message: Arc<str>,
    /// Details, any JSON up to 16 KiB: a stack trace, or data about the failure.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub details: Option<Json>,
}

impl Failure {
    /// A failure; a message longer than the limit is cut at a character boundary.
    #[must_use]
    pub fn new(category: Category, message: &str) -> Self {
        Self { category, message: cut(message, limits::FAILURE_MESSAGE_BYTES_MAX).into(), details: None }
    }

    /// The same with its message cut to the limit, however it was made.
    ///
    /// # Errors
    /// When its details are too large or nested too deep.
    pub(crate) fn checked(&self) -> Result<Self, Rejection> {
        let wrong = |error| Rejection::Payload { field: "details", error };
        if let Some(details) = &self.details {
            details.check(limits::FAILURE_DETAILS_BYTES_MAX).map_err(wrong)?;
        }
        Ok(Self { details: self.details.clone(), ..Self::new(self.category.clone(), &self.message) })
    }

    /// The same without its details, which stay with the attempt that failed.
    pub(crate) fn in_short(&self) -> Self {
        Self { details: None, ..self.clone() }
    }
}

formats!(struct Policy { retry, attempt_timeout, max_reclaims, max_replays, retention, dedup_window, on_exhausted = 2 });
formats!(
    enum OnExhausted {
        Fail,
        Pause,
    }
);
formats!(struct RetryPolicy { max_retries, first_pause, longest_pause, jitter, categories });
formats!(struct Failure { category, message, details });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_their_limit_and_jitter_stays_within() {
        let plain = |jitter| RetryPolicy { jitter, longest_pause: Span::minutes(1), ..RetryPolicy::default() };
        let pauses: Vec<u64> = (0..8).map(|retry| plain(false).pause(retry, 7).0).collect();
        assert_eq!(pauses, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
        assert_eq!(plain(false).pause(200, 7), Span(60_000));
        let drawn: Vec<u64> = (0..1_000).map(|seed| plain(true).pause(2, seed).0).collect();
        assert!(drawn.iter().all(|span| (2_000..=4_000).contains(span)));
        assert!(drawn.iter().any(|&span| span < 2_200) && drawn.iter().any(|&span| span > 3_600));
        assert_eq!(RetryPolicy::fixed(3, Span(50)).pause(9, 1), Span(50));
    }

    #[test]
    fn what_a_newer_version_adds_is_passed_over() {
        let text = r#"{"retry":{"max_retries":7,"patience":3},"colour":"red"}"#;
        let policy: Policy = serde_json::from_str(text).unwrap();
        assert_eq!(policy.retry(), RetryPolicy { max_retries: 7, ..RetryPolicy::default() });
    }

    #[test]
    fn categories_decide_what_is_retried() {
        let only = RetryPolicy { categories: vec![Category::new("rate_limit").unwrap()], ..RetryPolicy::default() };
        for (policy, category, covered) in [
            (RetryPolicy::default(), Category::transient(), true),
            (RetryPolicy::default(), Category::panic(), true),
            (RetryPolicy::default(), Category::permanent(), false),
            (only.clone(), Category::transient(), false),
            (only, Category::new("rate_limit").unwrap(), true),
        ] {
            assert_eq!(policy.covers(&category), covered, "{category:?}");
        }
        assert!(Category::new("Rate Limit").is_err());
        assert!(serde_json::from_str::<Category>("\"Rate Limit\"").is_err());
    }

    #[test]
    fn long_messages_are_cut_between_characters() {
        let failure = Failure::new(Category::transient(), &"é".repeat(2_000));
        assert_eq!(failure.message.len(), limits::FAILURE_MESSAGE_BYTES_MAX);
        let failure = Failure::new(Category::transient(), &format!("x{}", "é".repeat(2_000)));
        assert_eq!(failure.message.len(), limits::FAILURE_MESSAGE_BYTES_MAX - 1);
    }
}
