//! Refuses files that are small and would take much memory or time: a tokenizer takes both in
//! proportion to its file.

use serde_json::Value;

/// Largest integer of a file. Vocabularies have less than a million tokens.
const NUMBER_MAX: u64 = (1 << 24) - 1;
/// Ids that no token has, beside one for each token.
const UNUSED_IDS_MAX: usize = 1 << 17;
/// Tokens of a padded text.
const PADDED_MAX: u64 = 1 << 16;
/// Characters of a word that word pieces divide: the work is the cube of it.
const WORD_MAX: u64 = 1000;
/// Bytes of a token of the vocabulary: models keep a node for each of them.
const TOKEN_MAX: usize = 4096;
/// Bytes and parentheses of a pattern: its reader is recursive.
const PATTERN_MAX: usize = 4096;
const PATTERN_DEPTH_MAX: usize = 32;
/// Product of the counts, as in `{1,3}`, of a pattern: each copies what it repeats.
const REPEATS_MAX: u64 = 1000;
/// Factor by which normalizers and decoders may lengthen a text.
const GROWTH_MAX: f64 = 64.0;
/// Parts of a sequence of normalizers, or of the frame of a text.
const PARTS_MAX: usize = 256;

pub fn check(file: &Value) -> Result<(), String> {
    check_part(file)?;
    check_vocabulary(file)?;
    for part in ["normalizer", "pre_tokenizer", "decoder"] {
        let growth = growth_of(&file[part]);
        if growth > GROWTH_MAX {
            return Err(format!("its {part} makes a text {growth:.0} times as long"));
        }
    }
    if file["model"]["dropout"].as_f64().unwrap_or(0.0) != 0.0 {
        return Err("its dropout makes other tokens each time; remove it".to_string());
    }
    let padding = &file["padding"];
    for size in [
        &padding["strategy"]["Fixed"],
        &padding["pad_to_multiple_of"],
    ] {
        if size.as_u64().is_some_and(|size| size > PADDED_MAX) {
            return Err(format!("it pads to {size} tokens, at most {PADDED_MAX}"));
        }
    }
    let word = &file["model"]["max_input_chars_per_word"];
    if word.as_u64().is_some_and(|word| word > WORD_MAX) {
        return Err(format!(
            "it has words of {word} characters, at most {WORD_MAX}"
        ));
    }
    Ok(())
}

/// Checks numbers, patterns and the sizes of sequences of a value and all values in it.
fn check_part(value: &Value) -> Result<(), String> {
    match value {
        Value::Array(items) => items.iter().try_for_each(check_part),
        Value::Object(fields) => {
            for (name, field) in fields {
                match (name.as_str(), field) {
                    ("truncation", _) => {}
                    ("Regex", Value::String(pattern)) => check_pattern(pattern)?,
                    (
                        "normalizers" | "pretokenizers" | "decoders" | "processors" | "single"
                        | "pair",
                        Value::Array(parts),
                    ) if parts.len() > PARTS_MAX => {
                        let count = parts.len();
                        return Err(format!("{name} has {count} parts, at most {PARTS_MAX}"));
                    }
                    _ => check_part(field)?,
                }
            }
            Ok(())
        }
        Value::Number(number) if number.as_u64().is_some_and(|it| it > NUMBER_MAX) => {
            Err(format!("{number} is too large, at most {NUMBER_MAX}"))
        }
        _ => Ok(()),
    }
}

/// Checks a regular expression.
pub fn check_pattern(pattern: &str) -> Result<(), String> {
    if pattern.len() > PATTERN_MAX {
        let size = pattern.len();
        return Err(format!("a pattern of {size} bytes, at most {PATTERN_MAX}"));
    }
    let (mut depth, mut repeats) = (0usize, 1u64);
    for (at, byte) in pattern.bytes().enumerate() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b'{' => repeats = repeats.saturating_mul(count_at(&pattern[at + 1..])),
            _ => {}
        }
        if depth > PATTERN_DEPTH_MAX {
            return Err(format!(
                "a pattern is nested deeper than {PATTERN_DEPTH_MAX}"
            ));
        }
    }
    if repeats > REPEATS_MAX {
        return Err(format!(
            "a pattern repeats {repeats} times, at most {REPEATS_MAX}"
        ));
    }
    Ok(())
}

/// Returns the larger number of `3}`, `1,3}` or `3,}`; 1 if there is none.
fn count_at(text: &str) -> u64 {
    let end = text.find('}').unwrap_or(0);
    let counts = text[..end]
        .split(',')
        .map(|count| match count.trim().parse() {
            Ok(count) => count,
            Err(_) if !count.is_empty() && count.bytes().all(|it| it.is_ascii_digit()) => u64::MAX,
            Err(_) => 1,
        });
    counts.max().unwrap_or(1).max(1)
}

/// Checks the lengths of tokens, and the ids, by which memory is sized.
fn check_vocabulary(file: &Value) -> Result<(), String> {
    let (mut count, mut largest) = (0, 0);
    let mut take = |token: &str, id: Option<u64>| {
        count += 1;
        largest = largest.max(id.unwrap_or(0));
        if token.len() > TOKEN_MAX {
            return Err(format!(
                "a token has {} bytes, at most {TOKEN_MAX}",
                token.len()
            ));
        }
        Ok(())
    };
    match &file["model"]["vocab"] {
        Value::Object(tokens) => {
            for (token, id) in tokens {
                take(token, id.as_u64())?;
            }
        }
        Value::Array(tokens) => {
            for token in tokens {
                take(token[0].as_str().unwrap_or(""), None)?;
            }
        }
        _ => {}
    }
    for added in file["added_tokens"].as_array().into_iter().flatten() {
        take(
            added["content"].as_str().unwrap_or(""),
            added["id"].as_u64(),
        )?;
    }
    if largest > (2 * count + UNUSED_IDS_MAX) as u64 {
        return Err(format!("id {largest} is too large for {count} tokens"));
    }
    Ok(())
}

/// Returns the factor by which a part may lengthen a text.
fn growth_of(part: &Value) -> f64 {
    let mut growth = 1.0;
    for parts in ["normalizers", "pretokenizers", "decoders"] {
        for item in part[parts].as_array().into_iter().flatten() {
            growth *= growth_of(item);
        }
    }
    let text = |name: &str| part[name].as_str().map_or(0, str::len);
    let own = match part["type"].as_str() {
        Some("Replace") => {
            let from = part["pattern"]["String"].as_str().map_or(1, str::len);
            // A pattern may match nothing, before each character.
            let kept = if part["pattern"]["Regex"].is_string() || from == 0 {
                1
            } else {
                0
            };
            kept as f64 + text("content") as f64 / from.max(1) as f64
        }
        // Each word may become one more.
        Some("Prepend") => 1.0 + text("prepend") as f64 / 16.0,
        _ => 1.0,
    };
    growth * own.max(1.0)
}
