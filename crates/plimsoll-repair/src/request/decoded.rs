//! What a request asks for, decoded. Stricter than the API server: what two readers might understand
//! differently is not understood at all.

use std::net::IpAddr;

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P384_SHA384_ASN1, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey,
    VerificationAlgorithm,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use x509_parser::cri_attributes::ParsedCriAttribute;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::{FromDer, X509CertificationRequest};

const BEGIN: &str = "-----BEGIN CERTIFICATE REQUEST-----";
const END: &str = "-----END CERTIFICATE REQUEST-----";
const COMMON_NAME: &str = "2.5.4.3";
const ORGANIZATION: &str = "2.5.4.10";
const P256: &str = "1.2.840.10045.3.1.7";
const P384: &str = "1.3.132.0.34";

pub struct Asked {
    pub common_names: Vec<String>,
    pub organizations: Vec<String>,
    /// Parts of the subject that no kubelet writes.
    pub other_subject: Vec<String>,
    pub dns: Vec<String>,
    pub addresses: Vec<IpAddr>,
    /// Alternative names of other kinds.
    pub other_names: Vec<String>,
    /// Extensions and attributes that no kubelet asks for.
    pub extras: Vec<String>,
    pub signature: Signature,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signature {
    /// Whoever asks has the key.
    Good,
    Bad,
    /// By an algorithm that is not known here.
    Strange(String),
}

/// `text` is what stands in `spec.request`.
pub fn decode(text: &str) -> Result<Asked, String> {
    let pem = STANDARD.decode(text.trim()).map_err(|_| "it is no base64")?;
    let pem = String::from_utf8(pem).map_err(|_| "it is no PEM")?;
    let body = pem.trim().strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END));
    let body = body.ok_or("it is no single PEM block of a certificate request")?;
    let body: String = body.split_ascii_whitespace().collect();
    let der = STANDARD.decode(body).map_err(|_| "its PEM has more in it than base64")?;
    let (rest, request) =
        X509CertificationRequest::from_der(&der).map_err(|_| "it is no PKCS #10 request")?;
    match rest.is_empty() {
        true => Ok(read(&request)),
        false => Err("something stands behind the request".into()),
    }
}

fn read(request: &X509CertificationRequest<'_>) -> Asked {
    let mut asked = Asked {
        common_names: Vec::new(),
        organizations: Vec::new(),
        other_subject: Vec::new(),
        dns: Vec::new(),
        addresses: Vec::new(),
        other_names: Vec::new(),
        extras: Vec::new(),
        signature: signature(request),
    };
    let info = &request.certification_request_info;
    for part in info.subject.iter_attributes() {
        let oid = part.attr_type().to_id_string();
        match (oid.as_str(), part.as_str()) {
            (COMMON_NAME, Ok(text)) => asked.common_names.push(text.into()),
            (ORGANIZATION, Ok(text)) => asked.organizations.push(text.into()),
            (_, Ok(text)) => asked.other_subject.push(format!("{oid}={text}")),
            (_, Err(_)) => asked.other_subject.push(format!("{oid} in an unusual encoding")),
        }
    }
    if info.attributes().len() > 1 {
        asked.extras.push("more than one attribute".into());
    }
    for attribute in info.iter_attributes() {
        match attribute.parsed_attribute() {
            ParsedCriAttribute::ExtensionRequest(wanted) => {
                if wanted.extensions.len() > 1 {
                    asked.extras.push("more than one extension".into());
                }
                for extension in &wanted.extensions {
                    match extension.parsed_extension() {
                        ParsedExtension::SubjectAlternativeName(names) => {
                            names.general_names.iter().for_each(|name| asked.name(name));
                        }
                        _ => asked.extras.push(format!("extension {}", extension.oid)),
                    }
                }
            }
            _ => asked.extras.push(format!("attribute {}", attribute.oid)),
        }
    }
    asked
}

impl Asked {
    fn name(&mut self, name: &GeneralName<'_>) {
        match name {
            GeneralName::DNSName(name) => self.dns.push((*name).into()),
            GeneralName::IPAddress(bytes) => match address(bytes) {
                Some(address) => self.addresses.push(address),
                None => self.other_names.push(format!("an address of {} bytes", bytes.len())),
            },
            GeneralName::RFC822Name(name) => self.other_names.push(format!("mail {name}")),
            GeneralName::URI(name) => self.other_names.push(format!("URI {name}")),
            _ => self.other_names.push("a name of another kind".into()),
        }
    }
}

pub fn address(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from),
        16 => <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from),
        _ => None,
    }
}

fn signature(request: &X509CertificationRequest<'_>) -> Signature {
    let key = &request.certification_request_info.subject_pki;
    let signed_with = request.signature_algorithm.algorithm.to_id_string();
    let curve = key.algorithm.parameters.as_ref().and_then(|any| any.as_oid().ok());
    let curve = curve.map(|oid| oid.to_id_string()).unwrap_or_default();
    let (algorithm, public): (&dyn VerificationAlgorithm, &[u8]) =
        match (signed_with.as_str(), curve.as_str()) {
            ("1.2.840.10045.4.3.2", P256) => {
                (&ECDSA_P256_SHA256_ASN1, &key.subject_public_key.data)
            }
            ("1.2.840.10045.4.3.3", P384) => {
                (&ECDSA_P384_SHA384_ASN1, &key.subject_public_key.data)
            }
            ("1.2.840.113549.1.1.11", _) => {
                (&RSA_PKCS1_2048_8192_SHA256, &key.subject_public_key.data)
            }
            _ => return Signature::Strange(signed_with),
        };
    let verified = UnparsedPublicKey::new(algorithm, public)
        .verify(request.certification_request_info.raw, &request.signature_value.data);
    if verified.is_ok() { Signature::Good } else { Signature::Bad }
}
