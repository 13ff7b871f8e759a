"""A small labelled set of our own: tools described in six languages, asked for in each.

The words of query and description overlap as people's do, with other endings and other words around them; what is asked is that
the right tool is among the first three of forty-two.
"""

import pytest

from support import draft, names_found, tool
from toolsearch_server.catalog import View
from toolsearch_server.changes import NO_ENTRIES, Version, plan_apply
from toolsearch_server.embedders.static import static_embedder
from toolsearch_server.limits import DEFAULT_LIMITS

# language: [(what the tool says of itself, what a user asks)]
TOOLS = {
    "de": [
        ("Liefert die Wettervorhersage für eine Stadt", "Wie wird die Wettervorhersage in Hamburg"),
        ("Erstellt eine neue Rechnung für einen Kunden", "Rechnung schreiben für den Kunden Müller"),
        ("Löscht eine Datei aus dem Ordner", "diese Datei bitte löschen"),
        ("Verschickt eine E-Mail an einen Empfänger", "eine E-Mail verschicken"),
        ("Übersetzt einen Text in eine andere Sprache", "Text übersetzen ins Englische"),
        ("Sucht Flüge zwischen zwei Flughäfen", "Flüge nach Madrid suchen"),
        ("Zeigt die offenen Aufgaben eines Projekts", "welche Aufgaben sind im Projekt offen"),
    ],
    "fr": [
        ("Donne les prévisions météo pour une ville", "prévisions météo à Lyon"),
        ("Crée une facture pour un client", "créer la facture du client"),
        ("Supprime un fichier du dossier", "supprimer ce fichier"),
        ("Envoie un courriel à un destinataire", "envoyer un courriel à Marie"),
        ("Traduit un texte dans une autre langue", "traduire ce texte en anglais"),
        ("Recherche des vols entre deux aéroports", "chercher des vols pour Rome"),
        ("Affiche les tâches ouvertes d'un projet", "quelles tâches du projet sont ouvertes"),
    ],
    "es": [
        ("Da el pronóstico del tiempo para una ciudad", "pronóstico del tiempo en Sevilla"),
        ("Crea una factura para un cliente", "hacer una factura al cliente"),
        ("Borra un archivo de la carpeta", "borrar este archivo"),
        ("Envía un correo a un destinatario", "enviar un correo a Pedro"),
        ("Traduce un texto a otro idioma", "traducir el texto a otro idioma"),
        ("Busca vuelos entre dos aeropuertos", "vuelos baratos a París"),
        ("Muestra las tareas abiertas de un proyecto", "tareas abiertas del proyecto"),
    ],
    "zh": [
        ("获取某个城市的天气预报", "明天北京的天气预报"),
        ("为客户创建新发票", "给客户开发票"),
        ("从文件夹中删除文件", "删除这个文件"),
        ("向收件人发送电子邮件", "发送邮件给同事"),
        ("将文本翻译成另一种语言", "把这段文本翻译成英语"),
        ("搜索两个机场之间的航班", "查找去上海的航班"),
        ("显示项目中未完成的任务", "项目里有哪些任务"),
    ],
    "ja": [
        ("指定した都市の天気予報を取得します", "東京の天気予報を知りたい"),
        ("顧客への請求書を作成します", "請求書を作りたい"),
        ("フォルダからファイルを削除します", "このファイルを削除して"),
        ("宛先に電子メールを送信します", "電子メールを送りたい"),
        ("テキストを他の言語に翻訳します", "この文章を英語に翻訳"),
        ("二つの空港の間の航空便を検索します", "大阪行きの航空便を探す"),
        ("プロジェクトの未完了タスクを表示します", "プロジェクトのタスク一覧"),
    ],
    "ko": [
        ("도시의 일기 예보를 알려줍니다", "서울의 일기 예보"),
        ("고객에게 보낼 청구서를 만듭니다", "청구서를 만들어 줘"),
        ("폴더에서 파일을 삭제합니다", "이 파일을 삭제해 줘"),
        ("수신자에게 이메일을 보냅니다", "이메일을 보내고 싶어"),
        ("텍스트를 다른 언어로 번역합니다", "이 문장을 영어로 번역해 줘"),
        ("두 공항 사이의 항공편을 검색합니다", "제주행 항공편 검색"),
        ("프로젝트의 미완료 작업을 보여줍니다", "프로젝트 작업 목록"),
    ],
}
CASES = [(language, number) for language, pairs in TOOLS.items() for number in range(len(pairs))]


def view(*, meaning: bool) -> View:
    drafts = [
        draft(tool(f"tool_{number}", description), language)
        for language, pairs in TOOLS.items()
        for number, (description, _) in enumerate(pairs)
    ]
    change = plan_apply(NO_ENTRIES, drafts, (), DEFAULT_LIMITS).change
    return View.of(NO_ENTRIES.after(change, Version("e", 1)), static_embedder() if meaning else None)


@pytest.fixture(scope="module", params=["words", "words and meaning"])
def catalog(request: pytest.FixtureRequest) -> View:
    return view(meaning=request.param != "words")


@pytest.mark.parametrize(("language", "number"), CASES)
def test_a_tool_is_found_in_its_own_language(catalog: View, language: str, number: int) -> None:
    query = TOOLS[language][number][1]
    assert f"{language}.tool_{number}" in names_found(catalog, query)[:3]
