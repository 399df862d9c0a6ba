//! Where a plan keeps its store: the servers that it starts, or a file; and its address.

use crate::plan::{PARTITIONS, Plan, StoreKind};
use onward_servers::postgres::Postgres;
use onward_servers::valkey::{Cluster, Kind, Server};
use std::io;

/// The servers that a plan starts and breaks.
#[derive(Debug)]
pub(crate) enum PlanServers {
    Sqlite(tempfile::TempDir),
    Postgres(Box<Postgres>),
    Valkey(Box<Server>),
    Cluster(Cluster),
}

impl PlanServers {
    pub(crate) fn start(kind: StoreKind, settings: &[&str]) -> io::Result<Self> {
        Ok(match kind {
            StoreKind::Sqlite => Self::Sqlite(tempfile::Builder::new().prefix("chaos-file-").tempdir()?),
            StoreKind::Postgres => Self::Postgres(Box::new(Postgres::start(settings)?)),
            StoreKind::Valkey => Self::Valkey(Box::new(Server::start(Kind::Valkey, settings)?)),
            StoreKind::Cluster => Self::Cluster(Cluster::start(Kind::Valkey, settings)?),
        })
    }

    /// The address for a plan's processes.
    pub(crate) fn url(&self, plan: &Plan) -> String {
        let place = match self {
            // A file is made by the driver, which says how many partitions it has.
            Self::Sqlite(directory) => return format!("sqlite:{}", directory.path().join("chaos.db").display()),
            Self::Postgres(server) => format!("{}?schema=chaos", server.url()),
            Self::Valkey(server) => format!("{}?prefix=chaos", server.url()),
            Self::Cluster(cluster) => format!("{}?prefix=chaos", cluster.url()),
        };
        format!("{place}&partitions={PARTITIONS}{}", plan.options)
    }

    /// The Postgres of a plan that breaks it.
    pub(crate) fn postgres(&mut self) -> io::Result<&mut Postgres> {
        match self {
            Self::Postgres(server) => Ok(server),
            _ => Err(io::Error::other("this plan has no Postgres")),
        }
    }

    /// The cluster of a plan that breaks it.
    pub(crate) fn cluster(&mut self) -> io::Result<&mut Cluster> {
        match self {
            Self::Cluster(cluster) => Ok(cluster),
            _ => Err(io::Error::other("this plan has no cluster")),
        }
    }

    /// All servers of a plan on Valkey.
    pub(crate) fn valkeys(&mut self) -> &mut [Server] {
        match self {
            Self::Sqlite(_) | Self::Postgres(_) => &mut [],
            Self::Valkey(server) => std::slice::from_mut(server),
            Self::Cluster(cluster) => &mut cluster.servers,
        }
    }
}
