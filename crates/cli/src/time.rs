//! Times and lengths of time as people write and read them.

use crate::problem::Problem;
use jiff::Timestamp;
use onward::{Millis, Span};
use std::time::Duration;

/// A length of time such as `10s`, `5m`, `1h30m` or `2d`; a number needs its unit.
pub(crate) fn duration(option: &'static str, text: &str) -> Result<Duration, Problem> {
    let wrong = |why: String| Problem::Duration { option, why };
    if text.trim().parse::<u64>().is_ok() {
        return Err(wrong(format!("{text:?} has no unit")));
    }
    text.parse::<Span>().map(|Span(ms)| Duration::from_millis(ms)).map_err(wrong)
}

/// A time such as `2030-01-01T09:00:00Z`.
pub(crate) fn at(option: &'static str, text: &str) -> Result<Millis, Problem> {
    text.parse().map_err(|why| Problem::Time { option, why })
}

/// A time as RFC 3339 in UTC with milliseconds.
pub(crate) fn show(time: Millis) -> String {
    let since = i64::try_from(time.0).ok().and_then(|since| Timestamp::from_millisecond(since).ok());
    since.map_or_else(|| format!("{time} ms"), |stamp| format!("{stamp:.3}"))
}

/// A length of time in its two largest units, for people who want to know about how long.
pub(crate) fn rough(span: Span) -> String {
    let seconds = span.0 / 1_000;
    match (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0, 0) => format!("{}ms", span.0),
        (0, 0, 0, seconds) => format!("{seconds}s"),
        (0, 0, minutes, seconds) => format!("{minutes}m{seconds:02}s"),
        (0, hours, minutes, _) => format!("{hours}h{minutes:02}m"),
        (days, hours, ..) => format!("{days}d{hours:02}h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onward_fuzz::proptest::prelude::*;
    use onward_fuzz::{fuzz, near};

    #[test]
    fn lengths_of_time_are_read_as_people_write_them() {
        for (text, ms) in
            [("10s", 10_000), ("250ms", 250), ("1h30m", 5_400_000), ("2d", 172_800_000), (" 5m ", 300_000)]
        {
            assert_eq!(duration("--delay", text).unwrap(), Duration::from_millis(ms), "{text}");
        }
        for text in ["", "10", "s", "-5s", "tomorrow", "9999999999999d", "1 month"] {
            assert_eq!(duration("--delay", text).unwrap_err().code(), "invalid_duration", "{text}");
        }
    }

    #[test]
    fn about_how_long_is_told_in_two_units() {
        let told = [0, 999, 1_000, 59_999, 60_000, 3_599_000, 3_660_000, 90_061_000].map(|ms| rough(Span(ms)));
        assert_eq!(told, ["0ms", "999ms", "1s", "59s", "1m00s", "59m59s", "1h01m", "1d01h"]);
    }

    #[test]
    fn times_need_a_zone_and_print_in_utc() {
        let time = at("--at", "2030-01-01T09:00:00+01:00").unwrap();
        assert_eq!(show(time), "2030-01-01T08:00:00.000Z");
        assert_eq!(show(Millis(1_500)), "1970-01-01T00:00:01.500Z");
        for text in
            ["", "tomorrow", "2030-01-01", "2030-01-01T09:00:00", "1960-01-01T00:00:00Z", "2030-13-01T00:00:00Z"]
        {
            assert_eq!(at("--at", text).unwrap_err().code(), "invalid_time", "{text}");
        }
    }

    #[test]
    fn fuzz_times_are_shown_as_they_are_read() {
        let stamp = "(19[5-9]|20[0-9])[0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]0[0-9]:00)";
        fuzz(near(stamp), |text| {
            let Ok(time) = at("--at", &text) else { return Ok(false) };
            let shown = show(time);
            prop_assert!(at("--at", &shown).is_ok_and(|again| again == time), "{text:?} is shown as {shown:?}");
            Ok(true)
        });
    }
}
