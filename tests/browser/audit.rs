//! What any page owes its readers: names, contrast, an order of focus, a width that fits, and quiet. Each check looks at
//! the page that is open and tells the problems in words. What needs the page's own eyes is in `page.js`.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Browser, Key, PAGE};

/// How long a focus indicator or a scroll may take to arrive.
const SETTLE: Duration = Duration::from_secs(1);

/// Roles, by Chromium's names, that are nothing without a name.
const NAMED: &[&str] = &[
    "alertdialog",
    "button",
    "checkbox",
    "combobox",
    "dialog",
    "graphics-document",
    "image",
    "img",
    "link",
    "listbox",
    "menuitem",
    "meter",
    "progressbar",
    "radio",
    "searchbox",
    "slider",
    "spinbutton",
    "switch",
    "tab",
    "textbox",
    "DisclosureTriangle",
    "DisclosureTriangleGrouped",
];

/// Every check at once; the focus ends up nowhere.
#[track_caller]
pub(crate) fn all(browser: &Browser) -> Vec<String> {
    [structure, names, contrast, width, focus_order].iter().flat_map(|check| check(browser)).collect()
}

/// Title, language, headings, landmarks, headers of tables.
#[track_caller]
pub(crate) fn structure(browser: &Browser) -> Vec<String> {
    told(browser, "return structure()")
}

/// What can be used, and every image, has a name in the browser's own accessibility tree.
#[track_caller]
pub(crate) fn names(browser: &Browser) -> Vec<String> {
    let tree = browser.cdp("Accessibility.getFullAXTree", json!({}));
    let nodes = tree["nodes"].as_array().expect("nodes").iter().filter(|node| node["ignored"] == false);
    let nameless = nodes.filter_map(|node| {
        let role = node["role"]["value"].as_str().filter(|role| NAMED.contains(role))?;
        let name = node["name"]["value"].as_str().unwrap_or_default();
        name.trim().is_empty().then(|| (describe(browser, &node["backendDOMNodeId"]), role))
    });
    nameless.map(|(element, role)| format!("{element}: {role} without a name")).collect()
}

/// Text stands out from its background as WCAG AA asks: 4.5, or 3 if large.
#[track_caller]
pub(crate) fn contrast(browser: &Browser) -> Vec<String> {
    told(browser, "return contrast()")
}

/// Nobody has to scroll sideways.
#[track_caller]
pub(crate) fn width(browser: &Browser) -> Vec<String> {
    told(browser, "return width()")
}

/// Tab goes from the top to every element that takes focus, in the order of the document, and shows where it is.
#[track_caller]
pub(crate) fn focus_order(browser: &Browser) -> Vec<String> {
    let count = browser.page_script("return focusStart()").as_u64().expect("a count");
    // Backwards out of the page, so that the first Tab comes from outside, as a reader's does.
    browser.press(Key::Shift + Key::Tab);
    let mut problems = Vec::new();
    // Chromium stops at what scrolls as well, which is not counted; a trap must not hold us for ever.
    for _ in 0..2 * count + 20 {
        browser.press_tab();
        let deadline = Instant::now() + SETTLE;
        let step = loop {
            let step = browser.page_script("return focusStep()");
            if step["problems"].as_array().is_none_or(Vec::is_empty) || Instant::now() > deadline {
                break step;
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        problems.extend(texts(step["problems"].clone()));
        if step["done"] == true {
            problems.extend(told(browser, "return focusEnd()"));
            return problems;
        }
    }
    problems.push(format!("Tab never leaves the page; it is at {}", browser.focused()));
    problems
}

/// How often a screen reader would speak up by itself: changes of the text of live regions within some seconds.
#[track_caller]
pub(crate) fn chatter(browser: &Browser, seconds: u64) -> u64 {
    browser.page_script("listen()");
    // Nothing is waited for: this is how long we listen.
    std::thread::sleep(Duration::from_secs(seconds));
    browser.script("return window.auditChatter").as_u64().expect("the page is still the same")
}

#[track_caller]
fn told(browser: &Browser, js: &str) -> Vec<String> {
    texts(browser.page_script(js))
}

fn texts(value: Value) -> Vec<String> {
    serde_json::from_value(value).expect("texts")
}

/// An element of the accessibility tree in words.
#[track_caller]
fn describe(browser: &Browser, node: &Value) -> String {
    let resolved = browser.cdp("DOM.resolveNode", json!({"backendNodeId": node}));
    let called = json!({
        "objectId": resolved["object"]["objectId"],
        "functionDeclaration": format!("function() {{ {PAGE}\nreturn describe(this) }}"),
        "returnByValue": true,
    });
    let told = browser.cdp("Runtime.callFunctionOn", called);
    told["result"]["value"].as_str().expect("a description").to_owned()
}
