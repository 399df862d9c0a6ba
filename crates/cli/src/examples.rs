//! The examples and exit codes that the help shows.

pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  refused, or something promised did not hold
  2  the arguments cannot be understood
  3  a benchmark did not meet its bar
  4  there is no such execution
  5  the store failed

Examples:
  onward demo
  onward submit send-email --input '{\"to\": \"ada@example.com\"}' --lane emails
  onward ls --state failed
  onward --json get x-0192f0c8-0000-7000-8000-000000000001-17";

pub(crate) const SUBMIT_EXAMPLES: &str = "\
Examples:
  onward submit resize --input @photo.json --priority 5
  echo '[1, 2, 3]' | onward submit sum --input -
  onward submit remind --input '\"call Ada\"' --delay 1h30m --tag customer=42
  onward submit report --at 2030-01-01T09:00:00+01:00 --key report-2030
  onward submit train --requires gpu --requires linux
  onward submit scan --input @page.png --content-type image/png";

pub(crate) const GET_EXAMPLES: &str = "\
Examples:
  onward get x-0192f0c8-0000-7000-8000-000000000001-17
  onward get x-0192f0c8-0000-7000-8000-000000000001-17 --watch
  onward --json get x-0192f0c8-0000-7000-8000-000000000001-17";

pub(crate) const LS_EXAMPLES: &str = "\
Examples:
  onward ls
  onward ls --state failed --kind send-email --limit 100
  onward ls --state active --watch=5s
  onward ls --tag customer=42 --since 2030-01-01T00:00:00Z";

pub(crate) const RESULT_EXAMPLES: &str = "\
Exit code 1 when it ended without a result or has not ended.

Example:
  onward result x-0192f0c8-0000-7000-8000-000000000001-17 > result.json";

pub(crate) const WHY_EXAMPLES: &str = "\
Example:
  onward why x-0192f0c8-0000-7000-8000-000000000001-17";

pub(crate) const TOP_EXAMPLES: &str = "\
Rates are those of the last ten seconds, or of the last 200 executions where there were more.

Examples:
  onward top
  onward top --server http://localhost:8700 --every 5s
  onward --json top --once";

pub(crate) const CANCEL_EXAMPLES: &str = "\
Examples:
  onward cancel x-0192f0c8-0000-7000-8000-000000000001-17 --reason 'ordered twice'
  onward cancel x-0192f0c8-0000-7000-8000-000000000001-17 --grace 30s";

pub(crate) const RESCHEDULE_EXAMPLES: &str = "\
Examples:
  onward reschedule x-0192f0c8-0000-7000-8000-000000000001-17
  onward reschedule x-0192f0c8-0000-7000-8000-000000000001-17 --delay 2h
  onward reschedule x-0192f0c8-0000-7000-8000-000000000001-17 --at 2030-01-01T09:00:00Z";

pub(crate) const TAG_EXAMPLES: &str = "\
Example:
  onward tag x-0192f0c8-0000-7000-8000-000000000001-17 --set customer=42 --remove draft";

pub(crate) const BULK_EXAMPLES: &str = "\
Exit code 1 when some were refused, for instance because somebody else was faster.

Examples:
  onward bulk cancel --lane emails --state waiting --dry-run
  onward bulk replay --state failed --since 2030-01-01T00:00:00Z --reason 'the cause is mended'
  onward bulk signal --state suspended --tag release=7 --wait go --name now
  onward bulk purge --state completed";

pub(crate) const COMPLETIONS_EXAMPLES: &str = "\
Example:
  onward completions bash > ~/.local/share/bash-completion/completions/onward";

pub(crate) const EVENTS_EXAMPLES: &str = "\
With --json each line is one event with its cursor; --after CURSOR goes on behind it.

Examples:
  onward events --execution x-0192f0c8-0000-7000-8000-000000000001-17
  onward events --follow --endings
  onward --json events --what lease_expired --what lease_revoked";

pub(crate) const SIGNAL_EXAMPLES: &str = "\
Examples:
  onward signal x-0192f0c8-… paid --payload '{\"cents\":1200}' --key event-17
  onward signal x-0192f0c8-… ask --name approve
  onward waits x-0192f0c8-…";

pub(crate) const DOCTOR_EXAMPLES: &str = "\
Work may go on meanwhile. Exit code 1 when something is wrong and was not repaired.

Examples:
  onward doctor
  onward doctor --repair
  onward doctor --after-restore";

pub(crate) const LANE_EXAMPLES: &str = "\
Examples:
  onward lane ls
  onward lane pause emails
  onward lane set emails --retries 10 --retention 30d";

pub(crate) const KEY_EXAMPLES: &str = "\
Examples:
  onward key create --name ops --role admin
  onward key create --name mailer --role work --namespace shop --expires 90d
  onward key ls
  onward key revoke 0192f0c8000070008000000000000001";

pub(crate) const TOKEN_EXAMPLES: &str = "\
A token lets its holder answer one wait of one execution, in one name, without an API key. A link carries it behind the #.

Examples:
  onward token mint x-0192f0c8-… approval --for ada@example.com --name approved --name rejected --link https://onward.example.com
  onward token verify 'https://onward.example.com/approve#onward_token_v1.…'
  onward token signal onward_token_v1.… --name approved
  onward token rotate --grace 1d
  onward token keys";

pub(crate) const DEMO_EXAMPLES: &str = "\
Runs in a temporary directory and takes less than half a minute. Ends with exit code 1 if anything did not hold.
With --store it runs on a store of its own beside that file or on that server, and removes its work afterwards.

Examples:
  onward demo
  onward demo --store postgres://localhost/mydb
  onward demo --store valkey://localhost";
