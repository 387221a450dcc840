"""A form that holds what a reader comes for is read; one that is there to be filled in is not."""

import pytest

from app.adapters.loading.web_page import read_page

COMMENT = "Under load the journal is not flushed, and after a crash the last rows are missing. "
LINKS = "".join(f'<li><a href="/{n}">Section {n}</a>' for n in range(12))
HEADER = f'<div id="header"><b>Tracker</b><ul class="links">{LINKS}</ul></div>'
NOTICE = "Page last made on Monday by the tracker; all that is written here may be shown. " * 6
FOOTER = f'<div id="footer"><ul>{LINKS}</ul>{NOTICE}</div>'
SELECT = "<select>" + "<option>A country with a long name</option>" * 250 + "</select>"


def markdown(body):
    page = f"<!doctype html><html><head><title>T</title></head><body>{body}</body></html>"
    return read_page(page, "http://h/x").markdown


def fields(count):
    return "".join(
        f"<tr><th><label>Field {n}:</label></th><td><input name=f{n}>{SELECT if n == 1 else ''}"
        "</td></tr>"
        for n in range(count)
    )


def bug(controls=80, before="", after=""):
    """A page as Bugzilla 4 makes it: one form around the fields and the comments."""
    comments = "".join(
        f'<div class="bz_comment"><div class="bz_comment_head">Reporter {n} <a href="#c{n}">'
        f'Comment {n}</a> [<a href="#">reply</a>]</div><pre class="bz_comment_text">'
        f"Number {n}. {COMMENT * 5}</pre></div>"
        for n in range(8)
    )
    return (
        f'<form name="changeform" method="post" action="process_bug.cgi">{before}<input type=hidden'
        f' name=id value=4><table class="edit_form">{fields(controls)}</table>{comments}{after}'
        "<textarea>Additional</textarea><input type=submit value=Save></form>"
    )


@pytest.mark.parametrize(
    "page",
    [
        f"{HEADER}{bug()}{FOOTER}",
        f"{HEADER}<p>First Last Prev. This bug is not in your search results.</p>{bug()}{FOOTER}",
        f"{HEADER}<main>{bug()}</main>{FOOTER}",
        f"{HEADER}<main><div>Bug 4, which is <b>new</b></div>{bug()}</main>{FOOTER}",
        f"{HEADER}<article><h2>Bug 4</h2>{bug()}</article>{FOOTER}",
        f"{HEADER}{bug(200)}{FOOTER}",
    ],
    ids=["form", "line above", "main", "main with a line", "article", "more fields"],
)
def test_the_comments_in_a_form_full_of_fields_are_read(page):
    read = markdown(page)
    assert [f"Number {n}. Under load" in read for n in range(8)] == [True] * 8
    assert "country" not in read
    assert "Save" not in read


def test_menus_and_hidden_parts_of_a_form_that_is_read_are_left_out():
    menu = f"<nav>{LINKS}</nav>"
    dialog = f"<div style='display:none'><p>{'We value your privacy. ' * 60}</p></div>"
    read = markdown(f"{HEADER}{bug(before=menu, after=dialog)}{FOOTER}")
    assert "Number 7. Under load" in read
    assert "privacy" not in read


def test_a_panel_of_tabs_in_a_form_around_the_page_is_read():
    panel = f"<div role=tabpanel style='display:none'><p>Second. {COMMENT * 5}</p></div>"
    tabs = f"<div role=tabpanel><p>First. {COMMENT * 5}</p></div>{panel}"
    form = f'<form id="aspnetForm"><table>{fields(40)}</table>{tabs}</form>'
    read = markdown(f"<p>Skip to the content</p>{form}")
    assert "First. Under load" in read
    assert "Second. Under load" in read


def test_the_results_of_a_search_are_read_in_the_form_with_its_filters():
    filters = "".join(f"<label><input type=checkbox> Kind {n} ({n})</label>" for n in range(60))
    results = "".join(
        f'<li><a href="/r{n}">Result {n}</a><p>{COMMENT * 2} Found {n}.</p>' for n in range(10)
    )
    read = markdown(f"{HEADER}<form><input type=search>{filters}<ol>{results}</ol></form>{FOOTER}")
    assert [f"Found {n}." in read for n in range(10)] == [True] * 10


ARTICLE = f"<div><h2>Journal</h2><p>{COMMENT * 12}</p></div>"
TERMS = "By signing in you agree that what you write may be shown to all who work here. "
LOG_IN = f"""<form action="/login"><h3>Members</h3><label>Name <input name=n></label><label>Password
    <input type=password></label><p>{TERMS * 2}</p><button>Log in</button></form>"""
NEWSLETTER = f"<form>News by mail <input type=email><p>{TERMS * 2}</p><button>Go</button></form>"
COMMENTS = f"""<form><h3>Leave a reply</h3><p>Your address is not shown. Fields with * are needed.
    </p><textarea></textarea><label>Name * <input></label><label>Mail * <input></label>
    <label>Site <input></label>{SELECT}<label><input type=checkbox> Keep my name</label>
    <input type=submit value=Send></form>"""
SURVEY = (
    "<form>"
    + "".join(f"<p>Why is that so ({n})? {TERMS[:60]}<input type=radio><input>" for n in range(60))
    + "</form>"
)
CONTACT = f"""<form><table>{
    "".join(
        f"<tr><td>Question {n} *<td><input><select><option>Yes</select><input type=radio>"
        f"<small>{TERMS * 3}</small>"
        for n in range(20)
    )
}</table></form>"""
REGISTRATION = f"""<form><table>{fields(30)}</table><div style="display:none"><p>{TERMS * 30}</p>
    </div><button>Sign up</button></form>"""
MENU = f"<form><select><option>German</select><input><ul>{LINKS * 20}</ul></form>"


@pytest.mark.parametrize(
    "form",
    [LOG_IN, NEWSLETTER, COMMENTS, SURVEY, CONTACT, REGISTRATION, MENU],
    ids=["log-in", "newsletter", "comments", "survey", "contact", "registration", "menu"],
)
@pytest.mark.parametrize("frame", ["{}{}", "<main>{}{}</main>", "<article>{}</article>{}"])
def test_a_form_to_fill_in_is_left_out_beside_a_text(frame, form):
    assert markdown(frame.format(ARTICLE, form)) == f"## Journal\n\n{COMMENT * 12}".strip()


def test_a_form_with_a_long_text_is_left_out_beside_a_longer_one():
    policy = f"<form>{'<input>' * 20}<p>{TERMS * 9}</p></form>"
    assert "By signing in" not in markdown(f"<p>{COMMENT * 10}</p>{policy}")
    assert "By signing in" in markdown(f"<p>{COMMENT * 8}</p>{policy}")


def test_a_page_for_logging_in_is_its_text_without_the_form():
    assert markdown(f"<h2>Welcome</h2><p>This is the tracker.</p>{LOG_IN}") == (
        "## Welcome\n\nThis is the tracker."
    )
