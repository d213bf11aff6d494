//! Errors of networks, as the drivers count them since they were loaded.

use std::path::{Path, PathBuf};

use super::outcome::{Outcome, metrics};
use super::sysfs::{folders, number, sum};

/// The number of Ethernet in `type`, as ARP counts kinds of networks.
const ETHERNET: u64 = 1;

/// Errors of all ports: `class/infiniband/*/ports/*/counters`.
pub(super) fn infiniband(sys: &Path) -> Outcome {
    let cards = folders(&sys.join("class/infiniband"), |_| true);
    let ports: Vec<PathBuf> =
        cards.iter().flat_map(|card| folders(&card.join("ports"), |_| true)).collect();
    if ports.is_empty() {
        return Err("there is no InfiniBand port".to_owned());
    }
    let total = |file| sum(ports.iter().map(|port| number(&port.join("counters").join(file))));
    Ok(metrics([
        ("ib.symbol", total("symbol_error")),
        ("ib.down", total("link_downed")),
        ("ib.rcv", total("port_rcv_errors")),
    ]))
}

/// Errors of all cards: `class/net/*/statistics`, of those that are devices.
pub(super) fn ethernet(sys: &Path) -> Outcome {
    let cards: Vec<PathBuf> = folders(&sys.join("class/net"), |_| true)
        .into_iter()
        .filter(|card| card.join("device").exists())
        .filter(|card| number(&card.join("type")) == Some(ETHERNET))
        .collect();
    if cards.is_empty() {
        return Err("there is no Ethernet card".to_owned());
    }
    let total = |file| sum(cards.iter().map(|card| number(&card.join("statistics").join(file))));
    Ok(metrics([("eth.rx_err", total("rx_errors")), ("eth.tx_err", total("tx_errors"))]))
}

#[cfg(test)]
mod tests {
    use super::super::sysfs::tests::tree;
    use super::*;

    #[test]
    fn errors_of_all_ports_are_summed() {
        let root = tree(&[
            ("class/infiniband/mlx5_0/ports/1/counters/symbol_error", "3\n"),
            ("class/infiniband/mlx5_0/ports/1/counters/link_downed", "1\n"),
            ("class/infiniband/mlx5_0/ports/1/counters/port_rcv_errors", "0\n"),
            ("class/infiniband/mlx5_0/ports/2/counters/symbol_error", "4\n"),
            ("class/infiniband/mlx5_1/ports/1/counters/link_downed", "2\n"),
        ]);
        let expected = [("ib.symbol", Some(7)), ("ib.down", Some(3)), ("ib.rcv", Some(0))];
        assert_eq!(infiniband(root.path()), Ok(metrics(expected)));
        assert!(infiniband(tree(&[]).path()).is_err());
    }

    #[test]
    fn errors_of_cards_that_are_ethernet_are_summed() {
        let root = tree(&[
            ("class/net/eth0/device/vendor", "0x15b3\n"),
            ("class/net/eth0/type", "1\n"),
            ("class/net/eth0/statistics/rx_errors", "5\n"),
            ("class/net/eth0/statistics/tx_errors", "0\n"),
            ("class/net/eth1/device/vendor", "0x8086\n"),
            ("class/net/eth1/type", "1\n"),
            ("class/net/eth1/statistics/rx_errors", "2\n"),
            ("class/net/ib0/device/vendor", "0x15b3\n"),
            ("class/net/ib0/type", "32\n"),
            ("class/net/ib0/statistics/rx_errors", "100\n"),
            ("class/net/lo/type", "772\n"),
            ("class/net/veth0/type", "1\n"),
            ("class/net/veth0/statistics/rx_errors", "100\n"),
        ]);
        let expected = [("eth.rx_err", Some(7)), ("eth.tx_err", Some(0))];
        assert_eq!(ethernet(root.path()), Ok(metrics(expected)));
        assert!(ethernet(tree(&[]).path()).is_err());
    }
}
