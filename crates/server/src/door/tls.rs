//! HTTPS: a certificate and its key, read once.
//!
//! Invariant: messages name files and never what is in them.

use std::path::Path;
use std::sync::Arc;

use engine::{Error, ErrorCode, ErrorKind};
use host::Disk;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::door::config::TlsConfig;

/// What speaks TLS to those who connect.
///
/// # Errors
/// A file cannot be read or holds something else, or the key is not the certificate's.
pub(crate) fn acceptor(config: &TlsConfig, disk: &dyn Disk) -> Result<TlsAcceptor, Error> {
    let certificates: Result<Vec<_>, _> =
        CertificateDer::pem_slice_iter(&file(&config.certificate, disk)?).collect();
    let certificates = certificates.ok().filter(|found| !found.is_empty());
    let certificates = certificates.ok_or_else(|| bad(&config.certificate, "holds no PEM certificate"))?;
    let key = PrivateKeyDer::from_pem_slice(&file(&config.key, disk)?)
        .map_err(|_| bad(&config.key, "holds no PEM private key"))?;
    let settings = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|e| Error::internal(e.to_string()))?
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .map_err(|_| bad(&config.key, "is not the key of the certificate"))?;
    Ok(TlsAcceptor::from(Arc::new(settings)))
}

fn file(path: &Path, disk: &dyn Disk) -> Result<bytes::Bytes, Error> {
    host::read_all(disk, path).map_err(|error| bad(path, &format!("cannot be read: {error}")))
}

fn bad(path: &Path, what: &str) -> Error {
    Error::new(
        ErrorKind::BadInput,
        ErrorCode::INVALID_CONFIG_PARAMETER,
        format!("file \"{}\" {what}", path.display()),
    )
}
