//! Errors of memory, by the kernel's EDAC: `devices/system/edac/mc/mcN/{ce,ue}_count`.

use std::path::Path;

use super::outcome::{Outcome, metrics};
use super::sysfs::{folders, is_numbered, number, sum};

/// Errors since the start of the machine, over all memory controllers.
pub(super) fn read(sys: &Path) -> Outcome {
    let controllers = folders(&sys.join("devices/system/edac/mc"), |name| is_numbered(name, "mc"));
    let total = |file| sum(controllers.iter().map(|controller| number(&controller.join(file))));
    let (corrected, uncorrected) = (total("ce_count"), total("ue_count"));
    if corrected.or(uncorrected).is_none() {
        let reason = "no memory controller reports errors: is its EDAC driver loaded?";
        return Err(reason.to_owned());
    }
    Ok(metrics([("ecc.ce", corrected), ("ecc.ue", uncorrected)]))
}

#[cfg(test)]
mod tests {
    use super::super::sysfs::tests::tree;
    use super::*;

    #[test]
    fn errors_of_all_controllers_are_summed() {
        let root = tree(&[
            ("devices/system/edac/mc/mc0/ce_count", "41\n"),
            ("devices/system/edac/mc/mc0/ue_count", "0\n"),
            ("devices/system/edac/mc/mc1/ce_count", "1\n"),
            ("devices/system/edac/mc/mc1/ue_count", "2\n"),
            ("devices/system/edac/mc/power/ce_count", "9\n"),
        ]);
        let expected = metrics([("ecc.ce", Some(42)), ("ecc.ue", Some(2))]);
        assert_eq!(read(root.path()), Ok(expected));
        let none = read(tree(&[]).path()).expect_err("no controller");
        assert!(none.contains("EDAC"), "{none}");
    }
}
