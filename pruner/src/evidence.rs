//! Evidence for the entries: passages of the environment outputs, ranked by BM25 (paper, Appendix F).
//!
//! Every output is cut into chunks of at most 2,000 characters and each chunk into passages of at most 300
//! **\[choice\]**: cut where the count is full, so a passage lies in exactly one chunk and is not longer than the paper's.
//! Words are maximal runs of characters that are alphabetic, numeric or `_`, in lower case **\[choice\]**. BM25 with
//! k1 = 1.5, b = 0.75 and idf = ln(1 + (N - n + 0.5) / (n + 0.5)) **\[choice\]**; passages that share no word with the
//! entry are no evidence; equal scores are ordered by place. Only words of the entries are counted, so the cost is one
//! reading of the history and memory is bounded by it.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::history::Span;
use crate::words::{Counter, words};

/// Characters of a passage at most.
pub const PASSAGE_CHARS: usize = 300;
/// Characters of a chunk at most.
pub const CHUNK_CHARS: usize = 2_000;
/// Passages per entry.
pub const TOP: usize = 3;

const K1: f64 = 1.5;
const B: f64 = 0.75;

struct Passage<'a> {
    text: &'a str,
    chunk: usize,
    words: f64,
}

/// An index of the passages of a span for given entries.
pub struct Evidence<'a> {
    passages: Vec<Passage<'a>>,
    chunks: Vec<&'a str>,
    /// Per entry: passages and their scores, best first.
    best: Vec<Vec<(usize, f64)>>,
}

impl<'a> Evidence<'a> {
    /// Finds the evidence of each entry in the outputs of the span.
    pub fn find(span: &Span<'a>, entries: &[&str]) -> Evidence<'a> {
        let mut counter = Counter::default();
        let queries: Vec<Vec<u32>> = entries
            .iter()
            .map(|entry| {
                let mut query: Vec<u32> = words(entry).map(|word| counter.insert(word)).collect();
                query.sort_unstable();
                query.dedup();
                query
            })
            .collect();
        let mut evidence = Evidence { passages: Vec::new(), chunks: Vec::new(), best: Vec::new() };
        // postings: per word, (passage, times)
        let mut postings: Vec<Vec<(u32, u32)>> = vec![Vec::new(); counter.len()];
        for output in span.outputs() {
            for chunk in pieces(output, CHUNK_CHARS) {
                evidence.chunks.push(chunk);
                for text in pieces(chunk, PASSAGE_CHARS) {
                    evidence.index(text, &counter, &mut postings);
                }
            }
        }
        evidence.rank(&queries, &postings);
        evidence
    }

    fn index(&mut self, text: &'a str, counter: &Counter, postings: &mut [Vec<(u32, u32)>]) {
        let here = self.passages.len() as u32;
        let mut count = 0u32;
        for word in words(text) {
            count += 1;
            if let Some(word) = counter.find(word) {
                match postings[word as usize].last_mut() {
                    Some((passage, times)) if *passage == here => *times += 1,
                    _ => postings[word as usize].push((here, 1)),
                }
            }
        }
        self.passages.push(Passage { text, chunk: self.chunks.len() - 1, words: f64::from(count) });
    }

    fn rank(&mut self, queries: &[Vec<u32>], postings: &[Vec<(u32, u32)>]) {
        let n = self.passages.len() as f64;
        let mean = self.passages.iter().map(|passage| passage.words).sum::<f64>() / n.max(1.0);
        let mut scores = vec![0.0; self.passages.len()];
        let mut touched: Vec<u32> = Vec::new();
        for query in queries {
            for &word in query {
                let list = &postings[word as usize];
                let holding = list.len() as f64;
                let idf = (1.0 + (n - holding + 0.5) / (holding + 0.5)).ln();
                for &(passage, times) in list {
                    let times = f64::from(times);
                    let length = self.passages[passage as usize].words / mean.max(1.0);
                    let weight = idf * times * (K1 + 1.0) / (times + K1 * (1.0 - B + B * length));
                    if scores[passage as usize] == 0.0 {
                        touched.push(passage);
                    }
                    scores[passage as usize] += weight;
                }
            }
            touched.sort_unstable();
            let mut best: Vec<(usize, f64)> = Vec::with_capacity(TOP + 1);
            for &passage in &touched {
                let passage = passage as usize;
                // passages come in order of place, so an equal score stays behind the earlier one
                let score = scores[passage];
                let place = best.iter().position(|&(_, other)| score > other).unwrap_or(best.len());
                if place < TOP {
                    best.insert(place, (passage, score));
                    best.truncate(TOP);
                }
            }
            self.best.push(best);
            for &passage in &touched {
                scores[passage as usize] = 0.0;
            }
            touched.clear();
        }
    }

    /// The best passages of an entry and their BM25 scores, best first; at most [`TOP`].
    pub fn passages(&self, entry: usize) -> impl Iterator<Item = (&'a str, f64)> {
        self.best[entry].iter().map(|&(passage, score)| (self.passages[passage].text, score))
    }

    /// The chunks around the best passages of some entries, pooled: each text once, in the order of the history.
    pub fn chunks(&self, entries: Range<usize>) -> Vec<&'a str> {
        let chosen: BTreeSet<usize> =
            self.best[entries].iter().flatten().map(|&(passage, _)| self.passages[passage].chunk).collect();
        let mut seen = BTreeSet::new();
        chosen.into_iter().map(|chunk| self.chunks[chunk]).filter(|chunk| seen.insert(*chunk)).collect()
    }
}

/// Cuts a text into pieces of at most `most` characters.
fn pieces(text: &str, most: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        // a text of no more bytes has no more characters
        let end = if rest.len() <= most {
            rest.len()
        } else {
            rest.char_indices().nth(most).map_or(rest.len(), |(end, _)| end)
        };
        let (piece, tail) = rest.split_at(end);
        rest = tail;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Step;

    fn step(observation: &str) -> Step {
        Step { action: String::new(), observation: observation.to_string() }
    }

    #[test]
    fn pieces_count_characters_not_bytes() {
        let text = "é".repeat(650);
        let pieces: Vec<usize> = pieces(&text, 300).map(|piece| piece.chars().count()).collect();
        assert_eq!(pieces, [300, 300, 50]);
    }

    fn texts<'a>(evidence: &Evidence<'a>, entry: usize) -> Vec<&'a str> {
        evidence.passages(entry).map(|(text, _)| text).collect()
    }

    /// By hand: N = 3, lengths 3, 3, 2 (mean 8/3); "red" stands in one passage once: idf = ln(1 + 2.5/1.5) = 0.9808293,
    /// weight = 0.9808293 * 2.5 / (1 + 1.5 * (0.25 + 0.75 * 3 / (8/3))) = 0.9808293 * 2.5 / 2.640625 = 0.9285958.
    #[test]
    fn the_score_is_bm25() {
        let steps = [step("red green blue"), step("green blue blue"), step("blue black")];
        let span = Span { history: &steps, ..Span::default() };
        let evidence = Evidence::find(&span, &["red"]);
        let (text, score) = evidence.passages(0).next().unwrap();
        assert_eq!(text, "red green blue");
        assert!((score - 0.928_595_8).abs() < 1e-6, "{score}");
    }

    #[test]
    fn equal_scores_go_to_the_earlier_passage_and_at_most_three_are_taken() {
        let steps: Vec<Step> = (0..5).map(|at| step(&format!("word n{at}"))).collect();
        let span = Span { history: &steps, ..Span::default() };
        let evidence = Evidence::find(&span, &["word", "absent", "N3"]);
        assert_eq!(texts(&evidence, 0), ["word n0", "word n1", "word n2"]);
        assert!(texts(&evidence, 1).is_empty());
        assert_eq!(texts(&evidence, 2), ["word n3"]);
        assert_eq!(evidence.chunks(0..3), ["word n0", "word n1", "word n2", "word n3"]);
    }

    #[test]
    fn a_passage_brings_its_whole_chunk_once() {
        let long = format!("{} needle {}", "hay ".repeat(300), "hay ".repeat(600));
        let steps = [step(&long)];
        let span = Span { history: &steps, ..Span::default() };
        let evidence = Evidence::find(&span, &["needle", "needle hay"]);
        let chunks = evidence.chunks(0..2);
        assert_eq!(chunks[0].chars().count(), CHUNK_CHARS);
        assert_eq!(chunks[0], &long[..CHUNK_CHARS]);
    }
}
