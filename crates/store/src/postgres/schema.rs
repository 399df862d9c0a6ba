//! How a schema becomes a store, and what is refused instead.

use super::address::Address;
use super::fault::{self, unsuitable};
use super::statement::in_schema;
use crate::layout::{self, LAYOUT};
use crate::{Error, ErrorKind, Meta, Result};
use tokio_postgres::{Client, Transaction};

/// How many partitions a new store gets unless it is told otherwise.
pub(super) const PARTITIONS_DEFAULT: u16 = 64;
const TABLES: &str = include_str!("schema.sql");
const COMMIT: &str = include_str!("commit.sql");

/// Views for SQL users, name and query.
pub(super) type Views = &'static [(&'static str, &'static str)];

/// Makes or checks the store in one transaction; processes that open it at the same time wait for each other.
pub(super) async fn prepare(client: &mut Client, address: &Address, views: Views) -> Result<Meta> {
    let schema = address.schema.as_str();
    let transaction = client.transaction().await.map_err(fault::reading)?;
    let lock = "SELECT pg_advisory_xact_lock(hashtextextended('onward schema ' || $1::text, 0))";
    transaction.execute(lock, &[&schema]).await.map_err(fault::reading)?;
    if is_empty(&transaction, schema).await? {
        create(&transaction, address).await?;
    }
    let meta = verify(&transaction, address).await?;
    create_views(&transaction, schema, views).await?;
    transaction.commit().await.map_err(fault::reading)?;
    Ok(meta)
}

/// Whether there is nothing yet; a schema with other tables is not ours to use.
async fn is_empty(transaction: &Transaction<'_>, schema: &str) -> Result<bool> {
    let look = "SELECT count(*), count(*) FILTER (WHERE relname = 'meta') FROM pg_class \
        WHERE relnamespace = to_regnamespace($1::text)";
    let row = transaction.query_one(look, &[&schema]).await.map_err(fault::reading)?;
    let (all, ours): (i64, i64) = (super::value::column(&row, 0)?, super::value::column(&row, 1)?);
    if all > 0 && ours == 0 { Err(foreign(schema)) } else { Ok(all == 0) }
}

async fn create(transaction: &Transaction<'_>, address: &Address) -> Result<()> {
    let (schema, partitions) = (&address.schema, address.partitions.unwrap_or(PARTITIONS_DEFAULT));
    // A role that may not create schemas can still use an empty one that it owns.
    let found = transaction.query_one("SELECT to_regnamespace($1::text) IS NULL", &[schema]).await;
    if super::value::column(&found.map_err(fault::reading)?, 0)? {
        let make = format!("CREATE SCHEMA \"{schema}\"");
        transaction.batch_execute(&make).await.map_err(fault::reading)?;
    }
    let fixed = format!(
        "INSERT INTO @.meta VALUES ('application', 'onward'), ('layout', '{LAYOUT}'), ('partitions', '{partitions}'), \
         ('store_id', replace(gen_random_uuid()::text, '-', ''))"
    );
    let path = format!("SET LOCAL search_path TO \"{schema}\"");
    for text in [path.as_str(), TABLES, &in_schema(COMMIT, schema), &in_schema(&fixed, schema)] {
        transaction.batch_execute(text).await.map_err(fault::reading)?;
    }
    Ok(())
}

async fn verify(transaction: &Transaction<'_>, address: &Address) -> Result<Meta> {
    let schema = &address.schema;
    check_privileges(transaction, schema).await?;
    let rows = transaction.query(&in_schema("SELECT name, value FROM @.meta", schema), &[]).await;
    let rows = rows.map_err(|error| match error.code() {
        Some(code) if *code == tokio_postgres::error::SqlState::UNDEFINED_COLUMN => foreign(schema),
        _ => fault::reading(error),
    })?;
    let find = |name: &str| -> Option<&str> {
        rows.iter().find(|row| row.try_get::<_, &str>(0).ok() == Some(name)).and_then(|row| row.try_get(1).ok())
    };
    if find("application") != Some("onward") {
        return Err(foreign(schema));
    }
    let damaged = || fault::corrupt("the meta table holds no layout, store id or partition count");
    let layout: u32 = find("layout").and_then(|text| text.parse().ok()).ok_or_else(damaged)?;
    layout::check(&format!("schema {schema}"), layout)?;
    let partitions: u16 = find("partitions").and_then(|text| text.parse().ok()).ok_or_else(damaged)?;
    let store_id = find("store_id").and_then(|text| u128::from_str_radix(text, 16).ok()).ok_or_else(damaged)?;
    match address.partitions {
        Some(wanted) if wanted != partitions => Err(unsuitable(format!(
            "schema {schema} was made with {partitions} partitions, not {wanted}: the number is fixed for ever, so \
             leave it out or use another schema"
        ))),
        _ => Ok(Meta { store_id, partitions, layout }),
    }
}

async fn check_privileges(transaction: &Transaction<'_>, schema: &str) -> Result<()> {
    let look = "SELECT coalesce(bool_and(has_table_privilege(c.oid, p)), false), \
        has_schema_privilege($1::text, 'USAGE') AND coalesce((SELECT bool_and(has_sequence_privilege(s.oid, p)) \
        FROM pg_class s, unnest(ARRAY['USAGE', 'UPDATE']) p WHERE s.relnamespace = to_regnamespace($1::text) \
        AND s.relkind = 'S'), false) FROM pg_class c, \
        unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) p \
        WHERE c.relnamespace = to_regnamespace($1::text) AND c.relname IN ('records', 'entries', 'logs', 'feed', 'cuts')";
    let row = transaction.query_one(look, &[&schema]).await.map_err(fault::reading)?;
    if super::value::column(&row, 0)? && super::value::column(&row, 1)? {
        return Ok(());
    }
    let message = format!(
        "this role may not write to schema {schema}: GRANT USAGE ON SCHEMA {schema}, and SELECT, INSERT, UPDATE, DELETE \
         ON ALL TABLES, and USAGE, UPDATE ON ALL SEQUENCES IN SCHEMA {schema}"
    );
    Err(Error::new(ErrorKind::ReadOnly, message).unwritten())
}

/// Creates or replaces the caller's views where they are missing or different.
async fn create_views(transaction: &Transaction<'_>, schema: &str, views: Views) -> Result<()> {
    for (name, query) in views {
        let known = in_schema("SELECT value FROM @.meta WHERE name = 'view ' || $1::text", schema);
        let known = transaction.query_opt(&known, &[name]).await.map_err(fault::reading)?;
        if known.is_some_and(|row| row.try_get::<_, &str>(0).ok() == Some(*query)) {
            continue;
        }
        // Inside, names without a schema are those of the store.
        let make = format!(
            "SET LOCAL search_path TO \"{schema}\"; DROP VIEW IF EXISTS \"{name}\"; CREATE VIEW \"{name}\" AS {query}"
        );
        transaction.batch_execute(&make).await.map_err(fault::reading)?;
        let keep = "INSERT INTO @.meta VALUES ('view ' || $1::text, $2) ON CONFLICT (name) DO UPDATE SET value = $2";
        transaction.execute(&in_schema(keep, schema), &[name, query]).await.map_err(fault::reading)?;
    }
    Ok(())
}

fn foreign(schema: &str) -> Error {
    let message = format!("schema {schema} belongs to another program: choose another with ?schema=");
    Error::new(ErrorKind::Foreign, message).unwritten()
}
