//! Truncation and padding of one text's tokens, and the tokens around it.

use serde_json::Value;
use tokenizers::pipeline::Override;
use tokenizers::{TruncationDirection, TruncationParams};

/// A token: its id, and its first and last character of the text, the last one exclusive.
pub type Place = (u32, [i32; 2]);

/// The settings of a tokenizer.json.
pub struct Frame {
    length_max: Option<usize>,
    cuts_left: bool,
    padding: Option<Padding>,
}

struct Padding {
    length: usize,
    multiple: usize,
    left: bool,
    id: u32,
}

impl Frame {
    pub fn new(file: &Value) -> Self {
        let (truncation, padding) = (&file["truncation"], &file["padding"]);
        let size = |value: &Value| value.as_u64().map(|size| size as usize);
        let left = |part: &Value| part["direction"] == "Left";
        Frame {
            length_max: size(&truncation["max_length"]),
            cuts_left: left(truncation),
            padding: padding.is_object().then(|| Padding {
                length: size(&padding["strategy"]["Fixed"]).unwrap_or(0),
                multiple: size(&padding["pad_to_multiple_of"]).unwrap_or(1).max(1),
                left: left(padding),
                id: padding["pad_id"].as_u64().unwrap_or(0) as u32,
            }),
        }
    }

    /// Returns the tokens of a text that are kept: from the first number to the second one.
    /// `asked`: at most so many tokens with those around the text, 0 for the file's number.
    pub fn kept(&self, count: usize, around: usize, asked: usize) -> Result<[usize; 2], String> {
        let max = if asked > 0 {
            Some(asked)
        } else {
            self.length_max
        };
        let Some(max) = max else {
            return Ok([0, count]);
        };
        let max = max.checked_sub(around).ok_or_else(|| {
            format!("{around} tokens stand around a text, more than the {max} that are kept")
        })?;
        let cut = count.saturating_sub(max);
        Ok(if self.cuts_left {
            [cut, count]
        } else {
            [0, count - cut]
        })
    }

    /// Returns the same as an option of the fast tokenizer.
    pub fn asked(&self, length_max: usize) -> Override<TruncationParams> {
        if length_max == 0 {
            return Override::InheritConfig;
        }
        let left = self.cuts_left;
        let direction = if left {
            TruncationDirection::Left
        } else {
            TruncationDirection::Right
        };
        Override::With(TruncationParams {
            max_length: length_max,
            direction,
            ..Default::default()
        })
    }

    /// Adds the padding of the file, as `empty` of its id.
    pub fn pad<T: Clone>(&self, tokens: &mut Vec<T>, empty: impl Fn(u32) -> T) {
        let Some(padding) = &self.padding else {
            return;
        };
        let length = match padding.length {
            0 => tokens.len(),
            fixed => fixed,
        };
        let length = length.next_multiple_of(padding.multiple);
        let missing = length.saturating_sub(tokens.len());
        let at = if padding.left { 0 } else { tokens.len() };
        tokens.splice(at..at, std::iter::repeat_n(empty(padding.id), missing));
    }
}
