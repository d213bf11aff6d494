//! Whether blobs may be read by one-sided accesses, and of which providers.
//!
//! What is read so is not sealed: whoever has the key of a region, or hears the wires, has the
//! bytes. So it is off until the cluster says that its fabric is trusted.

use core::str::FromStr;

/// The environment variable that says so: `trusted`, or `trusted:PROVIDER`.
pub const FABRIC: &str = "TIDINGS_FABRIC";

/// Providers whose cards read the memory of others by themselves.
const HARDWARE: [&str; 5] = ["verbs", "cxi", "efa", "psm3", "opx"];

/// A fabric that is trusted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Trusted {
    /// The provider that is named, be it one in software.
    provider: Option<String>,
}

/// What is no setting.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{FABRIC} is `{0}`; set it to `trusted` or `trusted:PROVIDER` of libfabric, or to nothing")]
pub(crate) struct SettingError(String);

impl Trusted {
    /// The provider that is named.
    pub(super) fn named(&self) -> Option<&str> {
        self.provider.as_deref()
    }

    /// Whether a provider is one that is to be used. Names may be of several layers, such as
    /// `verbs;ofi_rxm`.
    pub(super) fn fits(&self, provider: &str) -> bool {
        match &self.provider {
            Some(named) => provider == named || provider.split(';').next() == Some(named),
            None => HARDWARE.contains(&provider.split(';').next().unwrap_or_default()),
        }
    }
}

impl FromStr for Trusted {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        match text.split_once(':') {
            None if text == "trusted" => Ok(Self { provider: None }),
            Some(("trusted", name)) if !name.is_empty() => {
                Ok(Self { provider: Some(name.to_owned()) })
            }
            _ => Err(SettingError(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn providers_in_software_are_used_only_by_name() {
        let trusted: Trusted = "trusted".parse().unwrap();
        for name in ["verbs", "verbs;ofi_rxm", "cxi", "efa", "psm3", "opx"] {
            assert!(trusted.fits(name), "{name}");
        }
        for name in ["tcp", "tcp;ofi_rxm", "shm", "sockets", "udp;ofi_rxd", "", "net"] {
            assert!(!trusted.fits(name), "{name}");
        }
        let named: Trusted = "trusted:tcp".parse().unwrap();
        assert!(named.fits("tcp") && named.fits("tcp;ofi_rxm") && !named.fits("shm"));
        let layered: Trusted = "trusted:tcp;ofi_rxm".parse().unwrap();
        assert!(layered.fits("tcp;ofi_rxm") && !layered.fits("tcp"));
    }

    #[test]
    fn another_text_is_refused_with_the_remedy() {
        for wrong in ["", "yes", "trusted:", "trust", "no:tcp"] {
            let error = wrong.parse::<Trusted>().unwrap_err().to_string();
            assert!(error.contains("trusted:PROVIDER"), "{error}");
        }
    }
}
