//! Certificates for this machine, each signed by an authority of its own, and callers who trust one of them.

use onward_server::Tls;
use onward_servers::program;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// A directory with certificates.
pub(crate) struct Certificates(tempfile::TempDir);

impl Certificates {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Makes a key and a certificate for this machine, and an authority that signs it.
    pub(crate) fn make(&self, name: &str) {
        std::fs::write(self.file("names"), "subjectAltName=IP:127.0.0.1,DNS:localhost").unwrap();
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
        for step in [
            format!("req -x509 {key} -days 2 -subj /CN=authority-{name} -keyout {name}-ca.key -out {name}-ca.crt"),
            format!("req {key} -subj /CN=server -keyout {name}.key -out {name}.csr"),
            format!(
                "x509 -req -in {name}.csr -CA {name}-ca.crt -CAkey {name}-ca.key -CAcreateserial -days 2 -extfile names -out {name}.crt"
            ),
        ] {
            let openssl = program("openssl").expect("openssl is installed");
            let made = Command::new(openssl).args(step.split(' ')).current_dir(self.0.path()).output().unwrap();
            assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        }
    }

    /// Puts a certificate where a server looks for its own.
    pub(crate) fn install(&self, name: &str) {
        for end in ["key", "crt"] {
            self.install_file(&format!("{name}.{end}"), &format!("served.{end}"));
        }
    }

    /// Puts one file in the place of another, whole at every moment.
    pub(crate) fn install_file(&self, from: &str, to: &str) {
        let copy = self.file("copy");
        std::fs::copy(self.file(from), &copy).unwrap();
        std::fs::rename(copy, self.file(to)).unwrap();
    }

    /// What the server is told.
    pub(crate) fn served(&self) -> Tls {
        Tls { certificate: self.file("served.crt"), key: self.file("served.key") }
    }

    /// Somebody who trusts this authority and nobody else.
    pub(crate) fn trusting(&self, name: &str) -> TlsConnector {
        let mut roots = RootCertStore::empty();
        roots.add(certificate(&self.file(&format!("{name}-ca.crt")))).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()));
        let config = config.with_safe_default_protocol_versions().unwrap();
        Arc::new(config.with_root_certificates(roots).with_no_client_auth()).into()
    }
}

fn certificate(file: &Path) -> CertificateDer<'static> {
    CertificateDer::from_pem_file(file).unwrap()
}
