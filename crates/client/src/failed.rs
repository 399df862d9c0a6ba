//! How a handler says that an attempt failed, and whether another one may help.

use crate::options::span;
use onward_core::{Category, Failure, Json, Payload, Reason, When, limits};
use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// Why an attempt failed. Any [`std::error::Error`] becomes one with `?`, as a failure that may pass.
///
/// ```
/// use onward::{Context, Failed};
///
/// async fn charge(_ctx: Context, cents: String) -> Result<u64, Failed> {
///     let cents: u64 = cents.parse()?; // tried again under the retry policy
///     if cents == 0 {
///         return Err(Failed::permanent("nothing to charge")); // never tried again
///     }
///     if cents > 100_000 {
///         return Err(Failed::category("rate_limit", "too much for now"));
///     }
///     Ok(cents)
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed(Why);

/// Why a handler ended without a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Why {
    /// The attempt failed.
    Failed(Failure),
    /// The attempt goes on later.
    Later(When),
    /// Nobody needs the execution any more.
    Cancelled(Reason),
}

impl Failed {
    /// A failure that may pass by itself; the retry policy decides.
    pub fn transient(message: impl fmt::Display) -> Self {
        Self::of(Category::transient(), message)
    }

    /// A failure that will not pass: the execution fails at once.
    pub fn permanent(message: impl fmt::Display) -> Self {
        Self::of(Category::permanent(), message)
    }

    /// A failure of a category of your own, which a retry policy can name. Capital letters become small ones, other
    /// characters than letters, digits and `_` become `_`, and a long name is cut.
    pub fn category(category: &str, message: impl fmt::Display) -> Self {
        let fit = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
        let name: String = category.chars().take(limits::CATEGORY_BYTES_MAX).map(fit).collect();
        let category = Category::new(&name).unwrap_or_else(|_| Category::transient());
        Self::of(category, message)
    }

    /// Not a failure: the attempt goes on later, when it has waited for so long. Its lease is released, so that no worker
    /// is kept busy; the handler is called again from its start, with the same attempt number.
    #[must_use]
    pub fn later(pause: Duration) -> Self {
        Self(Why::Later(When::After(span(pause))))
    }

    /// Not a failure: nobody needs the execution any more, so it ends as cancelled.
    pub fn cancelled(reason: impl fmt::Display) -> Self {
        Self(Why::Cancelled(Reason::new(&reason.to_string())))
    }

    /// Adds details, such as a stack trace or data about the failure: anything that becomes JSON of at most 16 KiB. What
    /// is larger, or does not become JSON, is kept as the beginning of its text.
    #[must_use]
    pub fn details<T: Serialize + ?Sized>(mut self, details: &T) -> Self {
        if let Why::Failed(failure) = &mut self.0 {
            failure.details = Some(fitting(details));
        }
        self
    }

    fn of(category: Category, message: impl fmt::Display) -> Self {
        Self(Why::Failed(Failure::new(category, &message.to_string())))
    }

    pub(crate) fn into_why(self) -> Why {
        self.0
    }
}

fn fitting<T: Serialize + ?Sized>(details: &T) -> Json {
    let text = serde_json::to_string(details).unwrap_or_else(|error| error.to_string());
    let max = limits::FAILURE_DETAILS_BYTES_MAX;
    let whole = if text.len() <= max { Payload::json(text.as_str()).ok() } else { None };
    // As JSON, a character of the text takes at most six bytes.
    let beginning = || text.chars().take(max / 6 - 2).collect::<String>();
    match whole.map_or_else(|| Payload::of(&beginning()), Ok) {
        Ok(Payload::Json(json)) => json,
        _ => Json::null(),
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Why::Failed(failure) => write!(f, "{}: {}", failure.category.as_str(), failure.message),
            Why::Later(_) => f.write_str("goes on later"),
            Why::Cancelled(reason) => write!(f, "cancelled: {reason}"),
        }
    }
}

impl<E: std::error::Error> From<E> for Failed {
    /// A failure that may pass, with the error and its causes as its message.
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(source) = cause {
            let text = source.to_string();
            // Some errors repeat their cause in their own text.
            if !message.contains(&text) {
                message.push_str(": ");
                message.push_str(&text);
            }
            cause = source.source();
        }
        Self::transient(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the mail was not sent")]
    struct Outer(#[source] std::num::ParseIntError);

    fn failure(failed: Failed) -> Failure {
        match failed.into_why() {
            Why::Failed(failure) => failure,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn errors_become_failures_with_their_causes() {
        let cause = "x".parse::<u8>().unwrap_err();
        let failure = failure(Failed::from(Outer(cause)));
        assert_eq!(failure.category, Category::transient());
        assert_eq!(&*failure.message, "the mail was not sent: invalid digit found in string");
    }

    #[test]
    fn categories_are_made_to_fit() {
        let category = |text: &str| failure(Failed::category(text, "x")).category.as_str().to_owned();
        assert_eq!(category("rate_limit"), "rate_limit");
        assert_eq!(category("Rate Limit!"), "rate_limit_");
        assert_eq!(category(""), "transient");
        assert_eq!(category(&"ä".repeat(99)), "_".repeat(40));
    }
}
