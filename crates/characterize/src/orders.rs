//! Orders of ranks, as predicted from the loads of links and as measured: whether the prediction
//! ranks them as the machine does.
//!
//! An order is predicted by the link that takes longest for its messages, where the rates of links
//! are known; else by the link that most messages pass. Between orders that are alike by that,
//! fewer hops a message are better, and then the order of letters decides, so that the order that
//! is predicted best is one before anything is measured. Orders of equal prediction have equal
//! rank.

use std::fmt::Write as _;

use tidings_experiment::statistics::rank_correlation;

use crate::point::{Characterisation, Point};
use crate::row::Prediction;

/// The protocol under which every order is measured.
const PROTOCOL: &str = "isend and irecv";
/// Bytes of a word of HALO.
const WORD_BYTES: f64 = 4.0;

/// An order that was predicted and measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Order<'a> {
    /// What was predicted.
    pub prediction: &'a Prediction,
    /// The time of an exchange with the largest sub-domain.
    pub point: &'a Point,
}

/// How well orders were predicted.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreement {
    /// How many orders.
    pub orders: usize,
    /// Spearman's rank correlation of predicted and measured.
    pub correlation: f64,
    /// The order that was predicted best.
    pub best: String,
    /// Its place among those measured, from 1.
    pub place: usize,
}

impl Order<'_> {
    /// What orders are predicted by: less is better.
    fn cost(&self) -> f64 {
        let own = self.prediction;
        own.busiest_s_a_byte.unwrap_or(own.messages_of_the_busiest_link)
    }

    fn measured_s(&self) -> f64 {
        self.point.seconds.estimate
    }

    /// How long the busiest link takes for an exchange, if its rate is known.
    fn predicted_s(&self) -> Option<f64> {
        let bytes = WORD_BYTES * self.point.key.count as f64;
        self.prediction.busiest_s_a_byte.map(|own| own * bytes)
    }
}

/// All orders with the largest sub-domain, the one that is predicted best first.
pub fn orders(all: &Characterisation) -> Vec<Order<'_>> {
    let is_order = |point: &&Point| {
        let variant = point.key.variant.split_once(", ");
        point.key.test == "halo" && variant.is_some_and(|own| own.1 == PROTOCOL)
    };
    let points: Vec<&Point> = all.points.iter().filter(is_order).collect();
    let Some(most) = points.iter().map(|own| (own.key.ranks, own.key.count)).max() else {
        return Vec::new();
    };
    let largest = points.into_iter().filter(|own| (own.key.ranks, own.key.count) == most);
    let order = |point: &'_ Point| point.key.variant.split(", ").next().unwrap_or("").to_owned();
    let mut orders: Vec<Order<'_>> = largest
        .filter_map(|point| Some(Order { prediction: all.predictions.get(&order(point))?, point }))
        .collect();
    orders.sort_by(|one, other| {
        let hops = |own: &Order<'_>| own.prediction.hops_a_message;
        let by_cost = one.cost().total_cmp(&other.cost());
        let by_hops = hops(one).total_cmp(&hops(other));
        by_cost.then(by_hops).then(one.prediction.variant.cmp(&other.prediction.variant))
    });
    orders
}

/// How well they were predicted; `None` of fewer than three.
pub fn agreement(all: &Characterisation) -> Option<Agreement> {
    let orders = orders(all);
    let (first, count) = (orders.first().filter(|_| orders.len() > 2)?, orders.len());
    let predicted: Vec<f64> = orders.iter().map(Order::cost).collect();
    let measured: Vec<f64> = orders.iter().map(Order::measured_s).collect();
    Some(Agreement {
        orders: count,
        correlation: rank_correlation(&predicted, &measured)?,
        best: first.prediction.variant.clone(),
        place: 1 + orders.iter().filter(|own| own.measured_s() < first.measured_s()).count(),
    })
}

/// `orders.csv`, the order that is predicted best first; `None` if none was predicted.
pub fn csv(all: &Characterisation) -> Option<String> {
    let orders = orders(all);
    let mut text = "order,hops_a_message,messages_of_the_busiest_link,predicted_s,seconds,\
                    seconds_low,seconds_high\n"
        .to_owned();
    for order in &orders {
        let (own, seconds) = (order.prediction, order.point.seconds);
        let predicted_s = order.predicted_s().map_or(String::new(), |own| format!("{own:e}"));
        let _ = writeln!(
            text,
            "{},{:.4},{},{predicted_s},{:e},{:e},{:e}",
            own.variant,
            own.hops_a_message,
            own.messages_of_the_busiest_link,
            seconds.estimate,
            seconds.low,
            seconds.high
        );
    }
    (!orders.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::characterisation;
    use crate::point::tests::{record, series};
    use serde_json::json;

    /// Orders with their busiest link, what it takes for a byte, and what was measured.
    fn measured(orders: &[(&str, f64, Option<f64>, f64)]) -> Characterisation {
        let names: Vec<String> =
            orders.iter().map(|own| format!("{}, isend and irecv", own.0)).collect();
        let rows = orders.iter().zip(&names);
        let rows: Vec<_> = rows.map(|(own, name)| ("halo", &name[..], 400, 100, own.3)).collect();
        let mut record = record(&rows, 0.0);
        for (name, messages, busiest, _) in orders {
            let mut row = json!({"test": "halo-prediction", "variant": name,
                "hops_a_message": 1.0, "messages_of_the_busiest_link": messages});
            if let Some(busiest) = busiest {
                row["busiest_s_a_byte"] = json!(busiest);
            }
            record.rows.push(row);
        }
        characterisation(&series(), &[record])
    }

    #[test]
    fn orders_are_compared_by_the_link_that_takes_longest_where_rates_are_known() {
        let all = measured(&[
            ("XYZT", 2.0, Some(4e-6), 4e-3),
            ("ZYXT", 3.0, Some(3e-6), 3e-3),
            ("TXYZ", 4.0, Some(2e-6), 2e-3),
        ]);
        let seen = agreement(&all).expect("three orders");
        assert_eq!((&*seen.best, seen.place, seen.orders), ("TXYZ", 1, 3));
        assert!((seen.correlation - 1.0).abs() < 1e-12, "{seen:?}");
        let text = csv(&all).expect("orders");
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].starts_with("TXYZ,1.0000,4,"), "{text}");
        let numbers: Vec<f64> = lines[1].split(',').skip(3).flat_map(str::parse).collect();
        assert!((numbers[0] - 8e-4).abs() < 1e-9 && (numbers[1] - 2.04e-3).abs() < 1e-9, "{text}");
        assert_eq!(lines.len(), 4);
    }

    #[test]
    fn without_rates_they_are_compared_by_messages_and_a_wrong_prediction_shows() {
        let all = measured(&[
            ("XYZT", 1.0, None, 4e-3),
            ("ZYXT", 2.0, None, 3e-3),
            ("TXYZ", 3.0, None, 2e-3),
        ]);
        let seen = agreement(&all).expect("three orders");
        assert_eq!((&*seen.best, seen.place), ("XYZT", 3));
        assert!((seen.correlation + 1.0).abs() < 1e-12, "{seen:?}");
        assert_eq!(agreement(&measured(&[("XYZT", 1.0, None, 4e-3)])), None);
        assert_eq!(csv(&Characterisation::default()), None);
    }
}
