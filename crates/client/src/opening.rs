//! How an address becomes an open store.

use crate::{Address, AddressError, ClientOptions, Result, views};
use onward_core::{Rejection, limits};
use onward_store::memory::Memory;
use onward_store::{Store, sqlite};
use std::sync::Arc;

/// Opens the store at an address, for an engine or for a look at its records.
///
/// # Errors
/// When the address is wrong, its kind of store is not built in, or the store cannot be opened.
pub async fn open_store(address: &str, options: &ClientOptions) -> Result<Arc<dyn Store>> {
    match address.parse()? {
        Address::Memory => {
            let partitions = partitions(options)?.unwrap_or(limits::PARTITIONS_DEFAULT);
            Ok(Arc::new(Memory::new(partitions, options.store_clock(), options.chance.id())))
        }
        Address::Sqlite(path) => {
            let chosen = sqlite::Options {
                partitions: partitions(options)?,
                clock: options.store_clock(),
                views: views::sqlite::VIEWS,
                ..sqlite::Options::default()
            };
            Ok(Arc::new(sqlite::open(path, chosen).await?))
        }
        Address::Postgres(url) => open_postgres(&with_partitions(url.as_str(), options)?).await,
        Address::Http(_) => {
            let why = "a server has the store and does not hand it out";
            Err(AddressError::Malformed { address: address.to_owned(), why }.into())
        }
        Address::Valkey(url) => open_valkey(&with_partitions(url.as_str(), options)?).await,
    }
}

#[cfg(feature = "postgres")]
async fn open_postgres(url: &str) -> Result<Arc<dyn Store>> {
    let options = onward_store::postgres::Options { views: views::postgres::VIEWS, ..Default::default() };
    Ok(Arc::new(onward_store::postgres::open(url, options).await?))
}

#[cfg(not(feature = "postgres"))]
async fn open_postgres(_: &str) -> Result<Arc<dyn Store>> {
    Err(AddressError::NotBuilt { store: "the Postgres store", feature: "postgres" }.into())
}

#[cfg(feature = "valkey")]
async fn open_valkey(url: &str) -> Result<Arc<dyn Store>> {
    Ok(Arc::new(onward_store::valkey::open(url).await?))
}

#[cfg(not(feature = "valkey"))]
async fn open_valkey(_: &str) -> Result<Arc<dyn Store>> {
    Err(AddressError::NotBuilt { store: "the Valkey store", feature: "valkey" }.into())
}

/// How many partitions a new store is to have, if that was chosen.
fn partitions(options: &ClientOptions) -> Result<Option<u16>> {
    let max = limits::PARTITIONS_MAX;
    match options.partitions {
        Some(wrong) if wrong == 0 || wrong > max => {
            let why = format!("a store has 1 to {max} partitions, not {wrong}");
            Err(Rejection::InvalidArgument { field: "partitions", why }.into())
        }
        chosen => Ok(chosen),
    }
}

/// The address of a server with the number of partitions, unless it names one itself.
fn with_partitions(url: &str, options: &ClientOptions) -> Result<String> {
    Ok(match partitions(options)? {
        Some(partitions) if !url.contains("partitions=") => {
            let separator = if url.contains('?') { '&' } else { '?' };
            format!("{url}{separator}partitions={partitions}")
        }
        _ => url.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_wins_over_the_option() {
        let eight = ClientOptions { partitions: Some(8), ..ClientOptions::default() };
        for (url, expected) in [
            ("valkey://host", "valkey://host?partitions=8"),
            ("valkey://host?wait=1", "valkey://host?wait=1&partitions=8"),
            ("valkey://host?partitions=4", "valkey://host?partitions=4"),
        ] {
            assert_eq!(with_partitions(url, &eight).unwrap(), expected);
        }
        assert_eq!(with_partitions("valkey://host", &ClientOptions::default()).unwrap(), "valkey://host");
        let none = ClientOptions { partitions: Some(0), ..ClientOptions::default() };
        assert!(with_partitions("valkey://host", &none).is_err());
    }
}
