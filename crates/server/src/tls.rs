//! The certificate of an encrypted server, read again when its files change.

use crate::options::Tls;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::SystemTime;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A certificate, and the files it came from.
#[derive(Debug)]
pub(crate) struct Certificates {
    files: Tls,
    current: Mutex<(Stamps, Arc<ServerConfig>)>,
}

/// When the files were last changed.
type Stamps = [Option<SystemTime>; 2];

impl Certificates {
    pub(crate) fn load(files: &Tls) -> Result<Self, String> {
        let current = Mutex::new((stamps(files), Arc::new(config(files)?)));
        Ok(Self { files: files.clone(), current })
    }

    /// What new connections use now.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        self.current.lock().1.clone().into()
    }

    /// Reads the files again if they have changed. What cannot be used leaves the old certificate in place.
    pub(crate) fn refresh(&self) {
        let found = stamps(&self.files);
        if self.current.lock().0 == found {
            return;
        }
        match config(&self.files) {
            Ok(config) => {
                tracing::info!("the certificate was read again");
                *self.current.lock() = (found, Arc::new(config));
            }
            Err(why) => tracing::warn!(why, "the certificate has changed and cannot be used; the old one stays"),
        }
    }
}

fn stamps(files: &Tls) -> Stamps {
    [&files.certificate, &files.key].map(|path| path.metadata().and_then(|found| found.modified()).ok())
}

fn config(files: &Tls) -> Result<ServerConfig, String> {
    let shown = |path: &std::path::Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let chain: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(&files.certificate).map_err(|error| shown(&files.certificate, &error))?.collect();
    let chain: Vec<CertificateDer<'static>> = chain.map_err(|error| shown(&files.certificate, &error))?;
    if chain.is_empty() {
        return Err(shown(&files.certificate, &"it holds no certificate"));
    }
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| shown(&files.key, &error))?;
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| shown(&files.certificate, &error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
