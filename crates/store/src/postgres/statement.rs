//! Every statement that the store sends, and the settings of the server that it depends on.
//!
//! Each read is one statement, so that it sees one state and needs no transaction; `@.` stands for the schema.

use super::fault::{self, unsuitable};
use super::group::PARAMETERS;
use crate::{Durability, Result};
use tokio_postgres::{Client, Row};

/// What can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask {
    Commit,
    Load,
    Places,
    Ascending,
    Descending,
    Count,
    Log,
    Heads,
    Events,
    AuditRecords,
    AuditRows,
    Settings,
}

impl Ask {
    /// How many statements there are.
    pub(super) const COUNT: usize = Self::Settings as usize + 1;
}

const SETTINGS: &str = "SELECT current_setting('server_version_num')::int, current_setting('fsync'), \
    current_setting('full_page_writes'), current_setting('synchronous_commit'), \
    current_setting('synchronous_standby_names'), current_setting('server_encoding'), pg_is_in_recovery(), \
    current_setting('server_version')";
/// A transaction that writes nothing does not wait for the synchronous standby, yet a check may be judged by a commit whose
/// own wait was cancelled. A record in the log makes it wait for everything before it.
const AWAITED: &str = "CASE WHEN current_setting('synchronous_standby_names') <> '' \
    THEN pg_logical_emit_message(true, 'onward', '') END";
/// Postgres 14 brought what an audit needs to take lines apart.
const VERSION_MIN: i32 = 140_000;

/// A statement's text for a schema.
pub(super) fn text(ask: Ask, schema: &str) -> String {
    let text = match ask {
        Ask::Commit => {
            let values: Vec<String> = (1..=PARAMETERS).map(|number| format!("${number}")).collect();
            return in_schema(&format!("SELECT c.*, {AWAITED} FROM @.commit({}) c", values.join(", ")), schema);
        }
        Ask::Load => "SELECT key, partition, version, places, body FROM @.records WHERE key = ANY ($1)",
        Ask::Places => "SELECT key, version, places FROM @.records WHERE key = ANY ($1)",
        Ask::Ascending => {
            "SELECT w.at, f.rank, f.key, f.partition FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[]) \
             WITH ORDINALITY AS w(name, start, after, until, at) CROSS JOIN LATERAL (SELECT rank, key, partition \
             FROM @.entries WHERE name = w.name AND (rank, key) > (w.start, w.after) AND rank <= w.until \
             AND ($5::int[] IS NULL OR partition = ANY ($5)) ORDER BY rank, key LIMIT $6) f"
        }
        Ask::Descending => {
            "SELECT w.at, f.rank, f.key, f.partition FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[]) \
             WITH ORDINALITY AS w(name, start, after, until, at) CROSS JOIN LATERAL (SELECT rank, key, partition \
             FROM @.entries WHERE name = w.name AND (rank, key) < (w.start, w.after) AND rank >= w.until \
             AND ($5::int[] IS NULL OR partition = ANY ($5)) ORDER BY rank DESC, key DESC LIMIT $6) f"
        }
        Ask::Count => {
            "SELECT count(*) FROM (SELECT FROM @.entries WHERE name = $1 \
             AND ($2::int[] IS NULL OR partition = ANY ($2)) LIMIT $3) AS found"
        }
        Ask::Log => {
            "SELECT r.partition, l.seq, l.body FROM @.records r LEFT JOIN LATERAL (SELECT seq, body FROM @.logs \
             WHERE key = r.key AND seq > $2 ORDER BY seq LIMIT $3) l ON true WHERE r.key = $1 ORDER BY l.seq"
        }
        Ask::Heads => {
            "SELECT p, (SELECT max(position) FROM @.feed WHERE partition = p) FROM generate_series(0, $1 - 1) AS p"
        }
        Ask::Events => {
            "SELECT c.partition, f.position, f.body, (SELECT through FROM @.cuts WHERE partition = c.partition) \
             FROM unnest($1::int[], $2::bigint[]) AS c(partition, after) \
             CROSS JOIN LATERAL (SELECT position, body FROM @.feed WHERE partition = c.partition AND position > c.after \
             ORDER BY position LIMIT $3) f LIMIT $3"
        }
        Ask::AuditRecords => {
            "SELECT r.key, r.partition, r.version, r.places, r.body, ARRAY(SELECT line \
             FROM string_to_table(r.places, E'\\n') AS line WHERE (SELECT count(*) FROM @.entries n \
             WHERE n.name = substr(line, strpos(line, ' ') + 1) AND n.rank = split_part(line, ' ', 1)::bigint \
             AND n.key = r.key AND n.partition = r.partition) = 0) \
             FROM (SELECT * FROM @.records WHERE key > $1 ORDER BY key LIMIT $2) r ORDER BY r.key"
        }
        Ask::AuditRows => {
            "SELECT n.name, n.rank, n.key, n.partition, r.partition, r.version, coalesce(strpos(E'\\n' || r.places || \
             E'\\n', E'\\n' || n.rank || ' ' || n.name || E'\\n') > 0, false) \
             FROM (SELECT * FROM @.entries WHERE (name, rank, key) > ($1, $2, $3) ORDER BY name, rank, key LIMIT $4) n \
             LEFT JOIN @.records r ON r.key = n.key ORDER BY n.name, n.rank, n.key"
        }
        Ask::Settings => SETTINGS,
    };
    in_schema(text, schema)
}

/// A text with the schema in its place.
pub(super) fn in_schema(text: &str, schema: &str) -> String {
    text.replace("@.", &format!("\"{schema}\"."))
}

/// Refuses a server that is too old or would lose commits; asked anew on every connection, since a restart may change it.
pub(super) async fn check_settings(client: &Client) -> Result<()> {
    let row = client.query_one(SETTINGS, &[]).await.map_err(fault::reading)?;
    let text = |at: usize| -> Result<&str> { super::value::column(&row, at) };
    let version: i32 = super::value::column(&row, 0)?;
    if version < VERSION_MIN {
        return Err(unsuitable(format!("this is Postgres {}: upgrade it to 14 or newer", text(7)?)));
    }
    for (at, name) in [(1, "fsync"), (2, "full_page_writes"), (3, "synchronous_commit")] {
        if text(at)? == "off" {
            let message = format!("Postgres runs with {name}=off, so a crash loses commits: turn it on");
            return Err(unsuitable(message));
        }
    }
    if text(5)? != "UTF8" {
        return Err(unsuitable(format!("the database has the encoding {}: create one with UTF8", text(5)?)));
    }
    if super::value::column(&row, 6)? {
        return Err(unsuitable("this Postgres is a standby: connect to the primary server"));
    }
    Ok(())
}

/// What a commit survives, by the same row of settings.
pub(super) fn durability(row: &Row) -> Result<(Durability, String)> {
    let (commit, standbys): (&str, &str) = (super::value::column(row, 3)?, super::value::column(row, 4)?);
    let version: &str = super::value::column(row, 7)?;
    if standbys.is_empty() || commit == "local" {
        return Ok((Durability::Disk, format!("Postgres {version} answers, and every commit is synced to its disk")));
    }
    let detail = format!("Postgres {version} answers, and every commit is synced and confirmed by a standby");
    Ok((Durability::Replicated, detail))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::{Options, address, link, open};

    /// How Postgres would do it once it knows nothing but the statement, which is how it does it after a few calls.
    async fn plan(client: &Client, ask: Ask, values: &str) -> String {
        let prepare = format!("DEALLOCATE ALL; PREPARE asked AS {}", text(ask, "plans"));
        client.batch_execute(&prepare).await.unwrap();
        let rows = client.query(&format!("EXPLAIN EXECUTE asked({values})"), &[]).await.unwrap();
        rows.iter().map(|row| row.get::<_, String>(0) + "\n").collect()
    }

    /// A read must seek to its start even when the tables were empty as its plan was made, or paging takes quadratic time.
    #[tokio::test]
    async fn reads_seek_to_their_start() {
        let server = onward_servers::postgres::Postgres::start(&[]).unwrap();
        let url = format!("{}?schema=plans", server.url());
        let _store = open(&url, Options::default()).await.unwrap();
        let client = link::connect(&address::parse(&url).unwrap()).await.unwrap();
        for (ask, values, seek) in [
            (Ask::Load, "'{k}'", "(key = ANY"),
            (Ask::Places, "'{k}'", "(key = ANY"),
            (
                Ask::Ascending,
                "'{n,m}', '{1,1}', '{k,k}', '{2,2}', NULL, 3",
                "((name = w.name) AND (ROW(rank, key) > ROW(w.start, w.after)) AND (rank <= w.until))",
            ),
            (
                Ask::Descending,
                "'{n,m}', '{2,2}', '{k,k}', '{1,1}', '{1}', 3",
                "((name = w.name) AND (ROW(rank, key) < ROW(w.start, w.after)) AND (rank >= w.until))",
            ),
            (Ask::Count, "'n', NULL, 3", "(name = $1)"),
            (Ask::Log, "'k', 1, 2", "(seq > $2)"),
            (Ask::Heads, "4", "(partition = p.p)"),
            (Ask::Events, "'{1}', '{1}', 1", "(\"position\" > c.after)"),
            (Ask::AuditRecords, "'k', 1", "(key > $1)"),
            (Ask::AuditRows, "'n', 1, 'k', 2", "(ROW(name, rank, key) > ROW($1, $2, $3))"),
        ] {
            let plan = plan(&client, ask, values).await;
            assert!(plan.contains("Index Cond: ") && plan.contains(seek), "{ask:?}\n{plan}");
            assert!(!plan.contains("Seq Scan"), "{ask:?}\n{plan}");
            let sorts = plan.matches("Sort Key").count();
            assert!(sorts == 0 || matches!(ask, Ask::Log), "{ask:?}\n{plan}");
        }
    }
}
