import json

from playwright.sync_api import expect

from console.browsing import Visit


def test_a_plan_shows_what_is_eager_and_deferred_and_what_that_saves(visit: Visit) -> None:
    page = visit("#/plan")
    expect(page.locator(".bars .number")).to_have_count(2)
    before, after = (int(text.replace(",", "")) for text in page.locator(".bars .number").all_inner_texts())
    assert 0 < after < before / 10
    expect(page.get_by_text("Eager: 1 tool")).to_be_visible()
    expect(page.get_by_text("Deferred: 106 tools")).to_be_visible()
    expect(page.get_by_text("find_tools").first).to_be_visible()
    page.get_by_label("Purpose", exact=True).fill("triage new bug reports")
    expect(page.get_by_role("table", name="Eager")).to_contain_text("github.open_issue")


def test_the_payload_is_what_the_provider_takes(visit: Visit) -> None:
    page = visit("#/plan?provider=openai&model=gpt-5.4")
    page.get_by_text("Payload", exact=True).click()
    payload = json.loads(page.get_by_label("Payload").inner_text())
    assert {"type": "tool_search"}.items() <= payload[0].items()


def test_form_and_json_follow_each_other_and_are_in_the_address(visit: Visit) -> None:
    page = visit("#/plan")
    page.get_by_label("Eager tools").fill("github: open_issue, list_*")
    page.get_by_text("As JSON").click()
    text = page.get_by_label("Configuration as JSON")
    expect(text).to_have_value(json.dumps({"eager_tools": {"github": ["open_issue", "list_*"]}}, indent=2))
    expect(page.get_by_role("table", name="Eager")).to_contain_text("github.open_issue")
    text.fill('{"tool_search": {"min_tokens": 1000000}}')
    expect(page.get_by_label("Least tokens")).to_have_value("1000000")
    expect(page.get_by_text("Eager: 107 tools")).to_be_visible()
    again = visit(f"#{page.url.partition('#')[2]}")
    expect(again.get_by_label("Least tokens")).to_have_value("1000000")


def test_what_is_wrong_is_said_at_the_field(visit: Visit) -> None:
    page = visit("#/plan")
    field = page.get_by_label("Results of a search")
    field.fill("500")
    expect(page.locator("#wrong-max_results")).to_contain_text("1 to 100")
    expect(field).to_have_attribute("aria-invalid", "true")
    field.fill("")
    expect(field).to_have_attribute("aria-invalid", "false")
    field.fill("many")
    expect(page.locator("#wrong-max_results")).to_contain_text("a whole number")
    page.get_by_text("As JSON").click()
    page.get_by_label("Configuration as JSON").fill('{"min_eagr": 2}')
    expect(page.locator("#json-wrong")).to_contain_text("“min_eagr” is not a setting")


def test_warnings_and_patterns_that_fit_nothing_are_told(visit: Visit) -> None:
    page = visit('#/plan?provider=openai&model=gpt-4&config={"eager_tools":{"github":["nothing_like_it"]}}')
    expect(page.locator(".notice").filter(has_text="No tool fits")).to_contain_text("github: nothing_like_it")
    expect(page.locator(".notice").first).to_be_visible()
