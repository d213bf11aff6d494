//! Charts of lines on logarithmic scales, as SVG without scripts or fonts of their own.
//!
//! Invariants: every text is escaped; what is not above zero is not drawn; each line has a colour
//! that colour-blind readers tell apart (Okabe and Ito) and, from the eighth on, dashes.

use std::fmt::Write as _;

use crate::words::escaped;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 380.0;
const LEFT: f64 = 86.0;
const RIGHT: f64 = 250.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;
/// A line of the legend, in pixels.
const STEP: f64 = 17.0;
/// Lines that the legend has room for.
const MOST_LINES: usize = 17;
/// Letters of a name that it has room for.
const LETTERS: usize = 34;

const COLORS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000"];

/// A value with its interval at a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// Where.
    pub x: f64,
    /// The value.
    pub y: f64,
    /// The ends of its interval.
    pub ends: [f64; 2],
}

/// A line and its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// In the legend.
    pub name: String,
    /// From left to right.
    pub marks: Vec<Mark>,
}

/// What a chart says besides its lines.
#[derive(Clone, Copy)]
pub struct Axes<'a> {
    /// Above the chart.
    pub title: &'a str,
    /// Below it, and beside it.
    pub names: [&'a str; 2],
    /// How numbers on the axes are written.
    pub words: [fn(f64) -> String; 2],
}

/// A scale from a number to pixels.
struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// Of these values, with a little room on both sides.
    fn of(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let logs: Vec<f64> = values.filter(|own| *own > 0.0).map(f64::log10).collect();
        let low = logs.iter().copied().fold(f64::INFINITY, f64::min);
        let high = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !low.is_finite() || !high.is_finite() {
            return Self { low: 0.0, high: 1.0, from, to };
        }
        let room = (0.04 * (high - low)).max(0.1);
        Self { low: low - room, high: high + room, from, to }
    }

    fn at(&self, value: f64) -> f64 {
        let share = (value.log10() - self.low) / (self.high - self.low);
        self.from + share * (self.to - self.from)
    }

    /// Numbers that are marked: powers of ten, and where there are few of them twos and fives.
    fn ticks(&self) -> Vec<f64> {
        let decades = self.low.floor() as i32..=self.high.ceil() as i32;
        let factors: &[f64] = match self.high - self.low {
            wide if wide > 2.5 => &[1.0],
            wide if wide > 1.0 => &[1.0, 3.0],
            _ => &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
        };
        let each = |power: i32| factors.iter().map(move |factor| factor * 10_f64.powi(power));
        let inside = |tick: &f64| (self.low..=self.high).contains(&tick.log10());
        decades.flat_map(each).filter(inside).collect()
    }
}

/// The chart of some lines.
pub fn svg(lines: &[Line], axes: &Axes<'_>) -> String {
    let marks = || lines.iter().flat_map(|line| &line.marks);
    let across = Scale::of(marks().map(|mark| mark.x), LEFT, WIDTH - RIGHT);
    let ends = marks().flat_map(|mark| [mark.y, mark.ends[0], mark.ends[1]]);
    let up = Scale::of(ends, HEIGHT - BOTTOM, TOP);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\" role=\"img\">\n<title>{0}</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"22\" font-size=\"14\" font-weight=\"bold\">{0}</text>\n",
        escaped(axes.title)
    );
    grid(&mut text, &across, &up, axes);
    for (number, line) in lines.iter().enumerate() {
        draw(&mut text, line, number, &across, &up);
    }
    if lines.len() > MOST_LINES {
        let y = TOP + STEP * (MOST_LINES as f64 + 0.2);
        let more = lines.len() - MOST_LINES;
        let _ = writeln!(
            text,
            "<text x=\"{}\" y=\"{y:.0}\">and {more} more</text>",
            WIDTH - RIGHT + 18.0
        );
    }
    text + "</svg>\n"
}

/// Lines of the grid with their numbers, and what the axes are.
fn grid(text: &mut String, across: &Scale, up: &Scale, axes: &Axes<'_>) {
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    for tick in across.ticks() {
        let (x, word) = (across.at(tick), escaped(&axes.words[0](tick)));
        let _ = writeln!(
            text,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{bottom}\" stroke=\"#e4e4e4\"/>\
             <text x=\"{x:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{word}</text>",
            bottom + 16.0
        );
    }
    for tick in up.ticks() {
        let (y, word) = (up.at(tick), escaped(&axes.words[1](tick)));
        let _ = writeln!(
            text,
            "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#e4e4e4\"/>\
             <text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{word}</text>",
            LEFT - 6.0,
            y + 4.0
        );
    }
    let (middle, half) = (f64::midpoint(LEFT, right), f64::midpoint(TOP, bottom));
    let _ = writeln!(
        text,
        "<rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{:.0}\" height=\"{:.0}\" fill=\"none\" \
         stroke=\"#888\"/>\n<text x=\"{middle:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>\n\
         <text x=\"14\" y=\"{half:.0}\" text-anchor=\"middle\" \
         transform=\"rotate(-90 14 {half:.0})\">{}</text>",
        right - LEFT,
        bottom - TOP,
        HEIGHT - 12.0,
        escaped(axes.names[0]),
        escaped(axes.names[1])
    );
}

/// One line with its intervals, and its name in the legend.
fn draw(text: &mut String, line: &Line, number: usize, across: &Scale, up: &Scale) {
    let color = COLORS[number % COLORS.len()];
    let dashes = ["", " stroke-dasharray=\"6 3\"", " stroke-dasharray=\"2 3\""];
    let dash = dashes[(number / COLORS.len()).min(2)];
    let drawn = || line.marks.iter().filter(|mark| mark.x > 0.0 && mark.y > 0.0);
    let points: Vec<String> =
        drawn().map(|mark| format!("{:.1},{:.1}", across.at(mark.x), up.at(mark.y))).collect();
    let _ = writeln!(
        text,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.8\"{dash}/>",
        points.join(" ")
    );
    for mark in drawn() {
        let (x, y) = (across.at(mark.x), up.at(mark.y));
        let _ = write!(text, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.6\" fill=\"{color}\"/>");
        if mark.ends.iter().all(|end| *end > 0.0) {
            let [low, high] = mark.ends.map(|end| up.at(end));
            let _ = write!(
                text,
                "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{low:.1}\" y2=\"{high:.1}\" \
                 stroke=\"{color}\"/>"
            );
        }
    }
    if number < MOST_LINES {
        let (x, y) = (WIDTH - RIGHT + 18.0, TOP + STEP * (number as f64 + 0.5));
        let long = line.name.chars().count() > LETTERS;
        let cut: String = line.name.chars().take(LETTERS).collect();
        let name = if long { format!("{cut}…") } else { cut };
        let _ = writeln!(
            text,
            "<line x1=\"{x:.0}\" x2=\"{:.0}\" y1=\"{:.1}\" y2=\"{:.1}\" stroke=\"{color}\" \
             stroke-width=\"2\"{dash}/><text x=\"{:.0}\" y=\"{y:.1}\">{}</text>",
            x + 18.0,
            y - 4.0,
            y - 4.0,
            x + 24.0,
            escaped(&name)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words;

    fn chart(lines: &[Line]) -> String {
        let axes = Axes {
            title: "a < b",
            names: ["bytes", "time"],
            words: [words::number, words::seconds],
        };
        svg(lines, &axes)
    }

    fn mark(x: f64, y: f64) -> Mark {
        Mark { x, y, ends: [y, y] }
    }

    #[test]
    fn each_line_has_its_marks_and_its_name() {
        let marks = vec![mark(1.0, 1e-6), mark(1024.0, 2e-6), mark(0.0, 1e-6)];
        let text = chart(&[Line { name: "in & out".to_owned(), marks }]);
        assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"), "{text}");
        assert!(text.contains("a &lt; b") && text.contains("in &amp; out"), "{text}");
        assert_eq!(text.matches("<circle").count(), 2, "nothing is drawn at zero");
        assert!(text.contains("1 k") && text.contains("µs"), "{text}");
    }

    #[test]
    fn a_chart_of_nothing_or_of_one_value_has_no_infinity() {
        for lines in [vec![], vec![Line { name: String::new(), marks: vec![mark(8.0, 1e-6)] }]] {
            let text = chart(&lines);
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        }
    }
}
