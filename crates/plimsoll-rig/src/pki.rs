//! Authorities and the certificates that they sign.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use anyhow::Result;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType, date_time_ymd,
};

pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub pem: String,
}

/// A certificate with its key.
pub struct Identity {
    pub certificate: String,
    pub key: String,
}

/// From one first of January to the next, by their years.
pub type Years = (i32, i32);
pub const VALID: Years = (2020, 2090);

impl Authority {
    pub fn new(name: &str) -> Result<Self> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2090, 1, 1);
        let key = KeyPair::generate()?;
        let pem = params.self_signed(&key)?.pem();
        Ok(Self { issuer: Issuer::new(params, key), pem })
    }

    /// `subject`: common name and organisations. `names`: DNS names and addresses.
    pub fn sign(&self, subject: (&str, &[&str]), names: &[&str], years: Years) -> Result<Identity> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.distinguished_name.push(DnType::CommonName, subject.0);
        for (number, organisation) in subject.1.iter().enumerate() {
            // A second one of the same type would take the place of the first.
            let kind = match number {
                0 => DnType::OrganizationName,
                _ => DnType::CustomDnType(vec![2, 5, 4, 10]),
            };
            params.distinguished_name.push(kind, *organisation);
        }
        for name in names {
            params.subject_alt_names.push(match name.parse::<IpAddr>() {
                Ok(address) => SanType::IpAddress(address),
                Err(_) => SanType::DnsName((*name).try_into()?),
            });
        }
        params.key_usages =
            vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.not_before = date_time_ymd(years.0, 1, 1);
        params.not_after = date_time_ymd(years.1, 1, 1);
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(Identity { certificate, key: key.serialize_pem() })
    }

    pub fn write(&self, folder: &Path, name: &str) -> Result<PathBuf> {
        let file = folder.join(format!("{name}.crt"));
        fs_err::write(&file, &self.pem)?;
        Ok(file)
    }

    /// For those who sign on their own.
    pub fn write_key(&self, folder: &Path, name: &str) -> Result<PathBuf> {
        let file = folder.join(format!("{name}.key"));
        fs_err::write(&file, self.issuer.key().serialize_pem())?;
        Ok(file)
    }
}

impl Identity {
    /// Gives the files of certificate and key.
    pub fn write(&self, folder: &Path, name: &str) -> Result<(PathBuf, PathBuf)> {
        let (certificate, key) =
            (folder.join(format!("{name}.crt")), folder.join(format!("{name}.key")));
        fs_err::write(&certificate, &self.certificate)?;
        fs_err::write(&key, &self.key)?;
        Ok((certificate, key))
    }
}
