//! tiktoken's rank files: a line for each token, its bytes in base64 and its rank. They become a
//! tokenizer.json. A pair of tokens merges by the rank of the token that it makes.

use ahash::AHashMap;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

/// Patterns by the name that the file begins with, as tiktoken's own.
const PATTERNS: [(&str, &str); 6] = [
    ("cl100k_base", CL100K),
    ("o200k", O200K),
    ("gpt2", R50K),
    ("r50k_base", R50K),
    ("p50k", R50K),
    ("gpt4", CL100K),
];
const R50K: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
const CL100K: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const O200K: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Most bytes of a token; tiktoken's longest have 128. It bounds the work for the pairs.
const TOKEN_MAX: usize = 1024;
/// Bytes of merges, as a multiple of the file's; tiktoken's files have less than twice theirs.
const MERGES_MAX: usize = 8;

/// Returns the tokenizer.json of a rank file. `pattern`: a name or a regular expression.
pub fn tokenizer_json(path: &str, pattern: Option<&str>, text: &str) -> Result<String, String> {
    let pattern = match pattern {
        Some(given)
            if given
                .bytes()
                .all(|it| it.is_ascii_alphanumeric() || it == b'_') =>
        {
            known(given).unwrap_or(given)
        }
        Some(given) => given,
        None => pattern_of(path)?,
    };
    let tokens = tokens_of(text)?;
    let ranks: AHashMap<&[u8], u32> = tokens
        .iter()
        .map(|(bytes, rank)| (bytes.as_slice(), *rank))
        .collect();
    let letters = byte_letters();
    let spelled = |bytes: &[u8]| -> String {
        bytes
            .iter()
            .map(|byte| letters[usize::from(*byte)])
            .collect()
    };
    let mut vocab = Map::new();
    let mut merges = Vec::new();
    let mut room = MERGES_MAX * text.len() + 4096;
    for (bytes, rank) in &tokens {
        vocab.insert(spelled(bytes), json!(rank));
        let mut pairs: Vec<(u32, u32, usize)> = (1..bytes.len())
            .filter_map(|cut| Some((*ranks.get(&bytes[..cut])?, *ranks.get(&bytes[cut..])?, cut)))
            .collect();
        pairs.sort_unstable();
        room = room.checked_sub(pairs.len() * bytes.len()).ok_or_else(|| {
            format!("its tokens are made of pairs in too many ways, such as rank {rank}")
        })?;
        for (_, _, cut) in pairs {
            merges.push(json!([spelled(&bytes[..cut]), spelled(&bytes[cut..])]));
        }
    }
    let tokenizer = json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": [],
        "normalizer": null,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated",
             "invert": false},
            {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
             "use_regex": false},
        ]},
        "post_processor": null,
        "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true,
                    "use_regex": true},
        "model": {"type": "BPE", "dropout": null, "unk_token": null,
                  "continuing_subword_prefix": null, "end_of_word_suffix": null,
                  "fuse_unk": false, "byte_fallback": false, "ignore_merges": true,
                  "vocab": Value::Object(vocab), "merges": merges},
    });
    Ok(tokenizer.to_string())
}

/// Returns the pattern of a file that begins with its name.
fn known(name: &str) -> Option<&'static str> {
    let found = PATTERNS.iter().find(|(known, _)| name.starts_with(known));
    found.map(|(_, pattern)| *pattern)
}

fn pattern_of(path: &str) -> Result<&'static str, String> {
    known(path.rsplit('/').next().unwrap_or(path)).ok_or_else(|| {
        let names: Vec<&str> = PATTERNS.iter().map(|(known, _)| *known).collect();
        format!(
            "it is no tokenizer.json, and its name tells no pattern for its ranks; a file of \
             ranks begins with one of {}, or a pattern is given: tokenize(text, 'a.tiktoken', \
             'cl100k_base')",
            names.join(", ")
        )
    })
}

/// Returns the tokens in the order of their ranks.
fn tokens_of(text: &str) -> Result<Vec<(Vec<u8>, u32)>, String> {
    let mut tokens = Vec::new();
    for (k, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let parts = line.split_once(' ').and_then(|(token, rank)| {
            Some((
                STANDARD.decode(token).ok()?,
                rank.trim().parse::<u32>().ok()?,
            ))
        });
        let (bytes, rank) =
            parts.ok_or_else(|| format!("line {} is no token in base64 and a rank", k + 1))?;
        if bytes.is_empty() || bytes.len() > TOKEN_MAX || rank > i32::MAX as u32 {
            return Err(format!(
                "line {}: a token of {} bytes, rank {rank}",
                k + 1,
                bytes.len()
            ));
        }
        tokens.push((bytes, rank));
    }
    tokens.sort_by_key(|(_, rank)| *rank);
    if tokens.windows(2).any(|two| two[0].1 == two[1].1) {
        return Err("two of its tokens have one rank".to_string());
    }
    Ok(tokens)
}

/// Returns the letter by which a byte-level tokenizer.json writes each byte (GPT-2's table).
pub fn byte_letters() -> [char; 256] {
    let mut letters = ['\0'; 256];
    let mut next = 256;
    for byte in 0..=255u8 {
        let shown = matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
        letters[usize::from(byte)] = if shown {
            char::from(byte)
        } else {
            next += 1;
            char::from_u32(next - 1).unwrap_or('\0')
        };
    }
    letters
}
