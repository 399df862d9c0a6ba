//! How a handler says that an attempt failed, and whether another one may help.

use onward_core::{Category, Failure, limits};
use std::fmt;

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
pub struct Failed(Failure);

impl Failed {
    /// A failure that may pass by itself; the retry policy decides.
    pub fn transient(message: impl fmt::Display) -> Self {
        Self(Failure::new(Category::transient(), &message.to_string()))
    }

    /// A failure that will not pass: the execution fails at once.
    pub fn permanent(message: impl fmt::Display) -> Self {
        Self(Failure::new(Category::permanent(), &message.to_string()))
    }

    /// A failure of a category of your own, which a retry policy can name. Capital letters become small ones, other
    /// characters than letters, digits and `_` become `_`, and a long name is cut.
    pub fn category(category: &str, message: impl fmt::Display) -> Self {
        let fit = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
        let name: String = category.chars().take(limits::CATEGORY_BYTES_MAX).map(fit).collect();
        let category = Category::new(&name).unwrap_or_else(|_| Category::transient());
        Self(Failure::new(category, &message.to_string()))
    }

    pub(crate) fn into_failure(self) -> Failure {
        self.0
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.category.as_str(), self.0.message)
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

    #[test]
    fn errors_become_failures_with_their_causes() {
        let cause = "x".parse::<u8>().unwrap_err();
        let failure = Failed::from(Outer(cause)).into_failure();
        assert_eq!(failure.category, Category::transient());
        assert_eq!(&*failure.message, "the mail was not sent: invalid digit found in string");
    }

    #[test]
    fn categories_are_made_to_fit() {
        let category = |text: &str| Failed::category(text, "x").into_failure().category.as_str().to_owned();
        assert_eq!(category("rate_limit"), "rate_limit");
        assert_eq!(category("Rate Limit!"), "rate_limit_");
        assert_eq!(category(""), "transient");
        assert_eq!(category(&"ä".repeat(99)), "_".repeat(40));
    }
}
