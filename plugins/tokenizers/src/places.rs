//! Places of tokens without the slow tokenizer: the tokens of byte pairs that keep every byte of a
//! text stand one after another.

use serde_json::Value;

use crate::frame::Place;
use crate::ranks::byte_letters;

/// Sizes of the tokens of such a tokenizer, by id.
pub struct Sizes {
    tokens: Vec<Size>,
    /// Leaves spaces out of the places.
    trims: bool,
    /// The ids before and after a text.
    around: [Vec<u32>; 2],
}

#[derive(Clone, Default)]
struct Size {
    bytes: u32,
    /// Spaces at its begin and its end, in characters.
    spaces: [u16; 2],
}

impl Sizes {
    /// Returns none for a tokenizer that changes texts, or whose file is unusual.
    pub fn new(file: &Value) -> Option<Self> {
        let model = &file["model"];
        let plain = model["type"] == "BPE"
            && file["normalizer"].is_null()
            && model["unk_token"].is_null()
            && model["dropout"].is_null()
            && model["continuing_subword_prefix"]
                .as_str()
                .unwrap_or("")
                .is_empty()
            && model["end_of_word_suffix"]
                .as_str()
                .unwrap_or("")
                .is_empty()
            && byte_level(&file["pre_tokenizer"]);
        if !plain {
            return None;
        }
        let mut sizes = Sizes {
            tokens: Vec::new(),
            trims: false,
            around: [Vec::new(), Vec::new()],
        };
        sizes.add_processor(&file["post_processor"])?;
        let letters = byte_letters();
        let space = letters[usize::from(b' ')];
        for (token, id) in model["vocab"].as_object()? {
            let bytes = token.chars().count();
            sizes.add(id.as_u64()?, bytes, token, |letter| letter == space);
        }
        for added in file["added_tokens"].as_array().into_iter().flatten() {
            let token = added["content"].as_str()?;
            sizes.add(added["id"].as_u64()?, token.len(), token, |letter| {
                letter == space || letter.is_whitespace()
            });
        }
        Some(sizes)
    }

    fn add(&mut self, id: u64, bytes: usize, token: &str, is_space: impl Fn(char) -> bool) {
        let id = id as usize;
        if id >= self.tokens.len() {
            self.tokens.resize(id + 1, Size::default());
        }
        let spaces = [
            token.chars().take_while(|it| is_space(*it)).count() as u16,
            token.chars().rev().take_while(|it| is_space(*it)).count() as u16,
        ];
        self.tokens[id] = Size {
            bytes: bytes as u32,
            spaces,
        };
    }

    fn add_processor(&mut self, processor: &Value) -> Option<()> {
        match processor["type"].as_str() {
            None if processor.is_null() => {}
            Some("Sequence") => {
                for part in processor["processors"].as_array()? {
                    self.add_processor(part)?;
                }
            }
            Some("ByteLevel") if self.around.iter().all(Vec::is_empty) && !self.trims => {
                self.trims = processor["trim_offsets"].as_bool()?;
                if self.trims && processor["add_prefix_space"].as_bool()? {
                    return None;
                }
            }
            Some("TemplateProcessing") if self.around.iter().all(Vec::is_empty) => {
                let mut side = 0;
                for piece in processor["single"].as_array()? {
                    if piece["Sequence"].is_object() {
                        side += 1;
                        continue;
                    }
                    let name = piece["SpecialToken"]["id"].as_str()?;
                    for id in processor["special_tokens"][name]["ids"].as_array()? {
                        self.around.get_mut(side)?.push(id.as_u64()? as u32);
                    }
                }
                if side != 1 {
                    return None;
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// Returns the ids before and after a text.
    pub fn around(&self) -> &[Vec<u32>; 2] {
        &self.around
    }

    /// Returns the places of the tokens `ids` of a text; none if they do not fill it.
    pub fn places(&self, text: &[u8], ids: &[u32]) -> Option<Vec<Place>> {
        let mut places = Vec::with_capacity(ids.len());
        let (mut at, mut begun) = (0usize, 0i32);
        for id in ids {
            let size = self.tokens.get(*id as usize)?;
            let bytes = text.get(at..at + size.bytes as usize)?;
            let first = bytes.first()?;
            let begin = if is_begin(*first) { begun } else { begun - 1 };
            begun += bytes.iter().filter(|byte| is_begin(**byte)).count() as i32;
            at += bytes.len();
            places.push((
                *id,
                if self.trims {
                    size.trimmed(begin, begun)
                } else {
                    [begin, begun]
                },
            ));
        }
        (at == text.len()).then_some(places)
    }
}

impl Size {
    fn trimmed(&self, begin: i32, end: i32) -> [i32; 2] {
        let [before, after] = self.spaces.map(i32::from);
        let begin = (begin + before).min(end);
        [
            begin,
            if end >= after {
                (end - after).max(begin)
            } else {
                end
            },
        ]
    }
}

/// True for the first byte of a character.
fn is_begin(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}

/// True if the last one of the pre-tokenizers makes bytes, and adds no space.
fn byte_level(part: &Value) -> bool {
    match part["type"].as_str() {
        Some("ByteLevel") => part["add_prefix_space"] == false,
        Some("Sequence") => {
            let parts = part["pretokenizers"].as_array();
            parts.is_some_and(|parts| {
                let bytes = parts.iter().filter(|it| it["type"] == "ByteLevel").count();
                bytes == 1 && parts.last().is_some_and(byte_level)
            })
        }
        _ => false,
    }
}
