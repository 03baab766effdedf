//! Certificates of additionalTrustBundle.

use plimsoll_install::{File, InstallConfig, Place};
use plimsoll_model::Time;
use x509_parser::pem::Pem;
use x509_parser::prelude::X509Certificate;

use super::{Facts, Found};

const DAY: i64 = 24 * 3600;
const SOON: i64 = 30 * DAY;

pub fn extract(config: &InstallConfig, now: Option<Time>, facts: &mut Facts) {
    let id = facts.config();
    let bundle = &config.trust_bundle;
    facts.text(
        &id,
        "trustBundlePolicy",
        &config.trust_bundle_policy,
        File::Install,
        "additionalTrustBundlePolicy",
    );
    facts.known(&id, "proxy", config.proxy.is_some());
    let at = bundle.place;
    let written = !bundle.value.trim().is_empty();
    facts.set(&id, "trustBundle", written, File::Install, "additionalTrustBundle", at, None);
    let mut expired = Vec::new();
    let mut early = Vec::new();
    let mut soon = Vec::new();
    let mut no_ca = Vec::new();
    let mut count = 0_usize;
    for (index, pem) in Pem::iter_from_buffer(bundle.value.as_bytes()).flatten().enumerate() {
        let Ok(certificate) = pem.parse_x509() else { continue };
        count += 1;
        let found = |said: String| Found {
            said,
            file: File::Install,
            path: "additionalTrustBundle".into(),
            at: facts.certificate_place(bundle.place, index),
            value: None,
        };
        let name = certificate.subject().to_string();
        let validity = certificate.validity();
        let (from, until) = (validity.not_before.timestamp(), validity.not_after.timestamp());
        let day = |seconds: i64| match Time::from_second(seconds) {
            Ok(time) => time.strftime("%Y-%m-%d").to_string(),
            Err(_) => "an unreadable day".into(),
        };
        if let Some(now) = now.map(Time::as_second) {
            if until < now {
                expired.push(found(format!("{name} (until {})", day(until))));
            } else if from > now {
                early.push(found(format!("{name} (from {})", day(from))));
            } else if until - now < SOON {
                soon.push(found(format!("{name} (until {})", day(until))));
            }
        }
        if !may_sign(&certificate) {
            no_ca.push(found(name));
        }
    }
    facts.known(&id, "bundleCertificates", count);
    facts.found(&id, "bundleExpired", expired);
    facts.found(&id, "bundleEarly", early);
    facts.found(&id, "bundleEndsSoon", soon);
    facts.found(&id, "bundleNotCa", no_ca);
}

/// A certificate that signed itself is trusted as it is.
fn may_sign(certificate: &X509Certificate<'_>) -> bool {
    let own = certificate.subject() == certificate.issuer();
    match certificate.basic_constraints() {
        Ok(Some(constraints)) => constraints.value.ca || own,
        _ => own,
    }
}

impl Facts {
    /// The line where a certificate of a bundle begins.
    fn certificate_place(&self, bundle: Place, index: usize) -> Place {
        let Some(text) = self.texts.get(File::Install.name()) else { return bundle };
        let lines = (bundle.line..).map_while(|number| Some((number, text.get(number)?)));
        let mut begins = lines.filter_map(|(line, text)| {
            let column = u32::try_from(text.find("-----BEGIN CERTIFICATE-----")?).ok()?;
            Some(Place { line, column: column + 1 })
        });
        begins.nth(index).unwrap_or(bundle)
    }
}
