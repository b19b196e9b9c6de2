//! Tokenizers of Hugging Face's tokenizer.json and of tiktoken's rank files, for feedmill's
//! functions `tokenize` and `detokenize`: feedmill_tokenizer_plugin_v2 of
//! include/feedmill/plugin.h.

mod checks;
mod contract;
mod frame;
mod places;
mod ranks;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use contract::{BAD_DATA, FAILED, FeedmillTokenizer, OK, OpError};
use frame::{Frame, Place};
use places::Sizes;
use serde_json::Value;
use tokenizers::TruncationParams;
use tokenizers::pipeline::{EncodeOptions, Override, PipelineToken, PipelineTokenizer};

/// Text of which every pattern that splits finds something, to see that it works.
const PROBE: &str = "It's 2 words.\n";

/// A request for the tokens of a text.
struct Call<'a> {
    text: &'a str,
    /// With the tokens around a text.
    special: bool,
    /// At most so many tokens; 0: the number of the file.
    length_max: usize,
}

struct Loaded {
    /// Takes most files, is fast, and knows no places.
    fast: Option<PipelineTokenizer>,
    /// Takes every tokenizer.json. Made when it is needed.
    complete: OnceLock<Result<Box<complete::Tokenizer>, String>>,
    json: String,
    frame: Frame,
    sizes: Option<Sizes>,
}

impl Loaded {
    fn new(json: String) -> Result<Self, String> {
        let file: Value = serde_json::from_str(&json).map_err(|error| error.to_string())?;
        checks::check(&file)?;
        let mut loaded = Loaded {
            fast: None,
            complete: OnceLock::new(),
            json,
            frame: Frame::new(&file),
            sizes: guarded(|| Ok(Sizes::new(&file))).unwrap_or(None),
        };
        drop(file);
        loaded.fast = guarded(|| read_fast(&loaded.json)).ok();
        if loaded.fast.is_none() {
            loaded.complete()?;
        }
        Ok(loaded)
    }

    fn complete(&self) -> Result<&complete::Tokenizer, String> {
        let made = self
            .complete
            .get_or_init(|| guarded(|| read_complete(&self.json)));
        made.as_ref().map(Box::as_ref).map_err(String::clone)
    }

    fn ids(&self, call: &Call) -> Result<Vec<u32>, String> {
        let mut ids: Vec<u32> = match &self.fast {
            Some(fast) => fast_ids(fast, call, self.frame.asked(call.length_max))?,
            None => {
                let made = self.complete()?.encode_fast(call.text, call.special);
                let tokens = self.kept(made.map_err(|error| error.to_string())?, call)?;
                tokens.into_iter().map(|(id, _)| id).collect()
            }
        };
        self.frame.pad(&mut ids, |id| id);
        Ok(ids)
    }

    fn places(&self, call: &Call) -> Result<Vec<Place>, String> {
        let mut places = match self.quick_places(call)? {
            Some(places) => places,
            None => self.complete_places(call)?,
        };
        self.frame.pad(&mut places, |id| (id, [0, 0]));
        Ok(places)
    }

    fn quick_places(&self, call: &Call) -> Result<Option<Vec<Place>>, String> {
        let (Some(fast), Some(sizes)) = (&self.fast, &self.sizes) else {
            return Ok(None);
        };
        let plain = Call {
            special: false,
            ..*call
        };
        let ids = fast_ids(fast, &plain, Override::Off)?;
        let Some(mut places) = sizes.places(call.text.as_bytes(), &ids) else {
            return Ok(None);
        };
        let [before, after] = sizes.around();
        let around = if call.special {
            before.len() + after.len()
        } else {
            0
        };
        let [begin, end] = self.frame.kept(places.len(), around, call.length_max)?;
        places.truncate(end);
        places.drain(..begin);
        if call.special {
            places.splice(0..0, before.iter().map(|id| (*id, [0, 0])));
            places.extend(after.iter().map(|id| (*id, [0, 0])));
        }
        Ok(Some(places))
    }

    fn complete_places(&self, call: &Call) -> Result<Vec<Place>, String> {
        let made = self
            .complete()?
            .encode_char_offsets(call.text, call.special);
        self.kept(made.map_err(|error| error.to_string())?, call)
    }

    /// Returns the tokens that are left after truncation.
    fn kept(&self, made: complete::Encoding, call: &Call) -> Result<Vec<Place>, String> {
        let around = made.get_special_tokens_mask();
        let count = around.iter().filter(|mask| **mask == 0).count();
        let [begin, end] = self
            .frame
            .kept(count, around.len() - count, call.length_max)?;
        // Bytes of a suffix that the vocabulary lacks would stand behind the text.
        let length = call.text.chars().count();
        let mut places = Vec::with_capacity(made.len());
        let mut at = 0;
        for (k, (id, offsets)) in made.get_ids().iter().zip(made.get_offsets()).enumerate() {
            if around[k] != 0 || (begin..end).contains(&at) {
                let within = |place: usize| place.min(length) as i32;
                places.push((*id, [within(offsets.0), within(offsets.1)]));
            }
            at += usize::from(around[k] == 0);
        }
        Ok(places)
    }

    fn decode(&self, ids: &[u32], special: bool) -> Result<String, String> {
        match &self.fast {
            Some(fast) => fast
                .decode(ids, !special)
                .map_err(|error| error.to_string()),
            None => {
                let made = self.complete()?.decode(ids, !special);
                made.map_err(|error| error.to_string())
            }
        }
    }
}

fn fast_ids(
    fast: &PipelineTokenizer,
    call: &Call,
    truncation: Override<TruncationParams>,
) -> Result<Vec<u32>, String> {
    let options = EncodeOptions {
        add_special_tokens: call.special,
        truncation,
        ..Default::default()
    };
    let mut tokens: Vec<PipelineToken> = Vec::with_capacity(call.text.len() / 4 + 8);
    let made = fast.encode_into(call.text, &options, &mut tokens);
    made.map_err(|error| error.to_string())?;
    Ok(tokens.into_iter().map(PipelineToken::id).collect())
}

fn read_fast(json: &str) -> Result<PipelineTokenizer, String> {
    let canonical = tokenizers::canonicalize_str(json).map_err(|error| error.to_string())?;
    let tokenizer = tokenizers::from_json(&canonical).map_err(|error| error.to_string())?;
    let probe = Call {
        text: PROBE,
        special: true,
        length_max: 0,
    };
    fast_ids(&tokenizer, &probe, Override::InheritConfig)?;
    Ok(tokenizer)
}

/// Its frame is that of `Loaded`, without which it has all places.
fn read_complete(json: &str) -> Result<Box<complete::Tokenizer>, String> {
    let mut tokenizer = complete::Tokenizer::from_bytes(json).map_err(|error| error.to_string())?;
    tokenizer.with_padding(None);
    tokenizer
        .with_truncation(None)
        .map_err(|error| error.to_string())?;
    Ok(Box::new(tokenizer))
}

fn read(path: &str, pattern: Option<&str>, bytes: &[u8]) -> Result<Loaded, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| format!("it is not UTF-8: {error}"))?;
    if text.trim_start().starts_with('{') {
        if pattern.is_some() {
            return Err("a tokenizer.json has a pattern of its own".to_string());
        }
        return Loaded::new(text.to_string());
    }
    Loaded::new(ranks::tokenizer_json(path, pattern, text)?)
}

/// Runs `body`; a panic becomes an error, as it must not reach the caller's frames.
fn guarded<T>(body: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<&str>()
            .map(|text| text.to_string())
            .or_else(|| panic.downcast_ref::<String>().cloned());
        Err(text.unwrap_or_else(|| "the tokenizer stopped".to_string()))
    })
}

/// # Safety
/// `count` items are at `at`, which may be null for none.
unsafe fn items_at<'a, T>(at: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    unsafe { std::slice::from_raw_parts(at, count) }
}

/// # Safety
/// `bytes` has `size` bytes; `path` is a C string, and `pattern` one or null.
unsafe extern "C" fn load(
    path: *const c_char,
    pattern: *const c_char,
    bytes: *const c_void,
    size: usize,
    error: *mut OpError,
) -> *mut c_void {
    // The caller has the text of a panic; this library has its own hook.
    std::panic::set_hook(Box::new(|_| ()));
    let path = unsafe { CStr::from_ptr(path) }.to_string_lossy();
    let pattern =
        (!pattern.is_null()).then(|| unsafe { CStr::from_ptr(pattern) }.to_string_lossy());
    let bytes = unsafe { items_at(bytes.cast::<u8>(), size) };
    match guarded(|| read(&path, pattern.as_deref(), bytes)) {
        Ok(loaded) => Box::into_raw(Box::new(loaded)).cast(),
        Err(text) => {
            unsafe { (*error).tell(&text) };
            std::ptr::null_mut()
        }
    }
}

/// # Safety
/// `loaded` is from `load`, and no longer used.
unsafe extern "C" fn unload(loaded: *mut c_void) {
    drop(unsafe { Box::from_raw(loaded.cast::<Loaded>()) });
}

/// # Safety
/// `loaded` is from `load`; `text` has `size` bytes.
unsafe extern "C" fn encode(
    loaded: *const c_void,
    text: *const c_char,
    size: usize,
    special: c_int,
    length_max: usize,
    sink: *mut c_void,
    emit: contract::EmitIds,
    error: *mut OpError,
) -> c_int {
    let made = unsafe { answer(loaded, text, size, special, length_max, Loaded::ids) };
    match made {
        Ok(ids) => {
            unsafe { emit(sink, ids.as_ptr().cast(), ids.len()) };
            OK
        }
        Err(text) => {
            unsafe { (*error).tell(&text) };
            BAD_DATA
        }
    }
}

/// # Safety
/// `loaded` is from `load`; `text` has `size` bytes.
unsafe extern "C" fn encode_places(
    loaded: *const c_void,
    text: *const c_char,
    size: usize,
    special: c_int,
    length_max: usize,
    sink: *mut c_void,
    emit: contract::EmitPlaces,
    error: *mut OpError,
) -> c_int {
    let made = unsafe { answer(loaded, text, size, special, length_max, Loaded::places) };
    match made {
        Ok(made) => {
            let (ids, places): (Vec<u32>, Vec<[i32; 2]>) = made.into_iter().unzip();
            unsafe { emit(sink, ids.as_ptr().cast(), places.as_ptr().cast(), ids.len()) };
            OK
        }
        Err(text) => {
            unsafe { (*error).tell(&text) };
            BAD_DATA
        }
    }
}

/// # Safety
/// `loaded` is from `load`; `text` has `size` bytes.
unsafe fn answer<T>(
    loaded: *const c_void,
    text: *const c_char,
    size: usize,
    special: c_int,
    length_max: usize,
    make: impl FnOnce(&Loaded, &Call) -> Result<T, String>,
) -> Result<T, String> {
    let loaded = unsafe { &*loaded.cast::<Loaded>() };
    let bytes = unsafe { items_at(text.cast::<u8>(), size) };
    let text = std::str::from_utf8(bytes)
        .map_err(|reason| format!("the text is not UTF-8 at byte {}", reason.valid_up_to()))?;
    let call = Call {
        text,
        special: special != 0,
        length_max,
    };
    guarded(|| make(loaded, &call))
}

/// # Safety
/// `loaded` is from `load`; `ids` has `count` items.
unsafe extern "C" fn decode(
    loaded: *const c_void,
    ids: *const i32,
    count: usize,
    special: c_int,
    sink: *mut c_void,
    emit: contract::EmitText,
    error: *mut OpError,
) -> c_int {
    let loaded = unsafe { &*loaded.cast::<Loaded>() };
    let ids = unsafe { items_at(ids.cast::<u32>(), count) };
    let made = guarded(|| loaded.decode(ids, special != 0));
    match made {
        Ok(text) => {
            unsafe { emit(sink, text.as_ptr().cast(), text.len()) };
            OK
        }
        Err(text) => {
            unsafe { (*error).tell(&text) };
            FAILED
        }
    }
}

static PLUGIN: FeedmillTokenizer = FeedmillTokenizer {
    version: c"tokenizers 1.0.0-rc.3".as_ptr(),
    load,
    unload,
    encode,
    encode_places,
    decode,
};

/// The entry point.
#[unsafe(no_mangle)]
pub extern "C" fn feedmill_tokenizer_plugin_v2() -> *const FeedmillTokenizer {
    &PLUGIN
}
