import os
import sys
from pathlib import Path

import pyspark
import pytest

from service.spark.home import use_installed_pyspark


@pytest.fixture(autouse=True)
def no_home(monkeypatch, tmp_path):
    monkeypatch.setenv("SPARK_HOME", "")  # so that what the code sets is taken back
    monkeypatch.delenv("SPARK_HOME")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))


def test_the_home_has_sparks_programs_and_jars_and_no_zip_of_pyspark():
    for _ in range(2):  # made once, found again
        os.environ.pop("SPARK_HOME", None)
        use_installed_pyspark()
        home = os.environ["SPARK_HOME"]
        assert os.access(f"{home}/bin/spark-submit", os.X_OK)
        assert any(name.startswith("spark-core") for name in os.listdir(f"{home}/jars"))
        assert not os.path.exists(f"{home}/python")
    assert os.listdir(os.path.dirname(home)) == [f"spark-{pyspark.__version__}"]


def test_two_that_make_it_at_the_same_time_share_one(monkeypatch, tmp_path):
    use_installed_pyspark()
    home = Path(os.environ.pop("SPARK_HOME"))
    exists = Path.exists
    looks = iter([lambda path: False])  # as it was when this process looked first
    monkeypatch.setattr(Path, "exists", lambda path: next(looks, exists)(path))
    use_installed_pyspark()
    assert os.environ["SPARK_HOME"] == str(home)
    assert os.listdir(home.parent) == [home.name]


def test_a_home_that_the_user_chose_stays(monkeypatch):
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    use_installed_pyspark()
    assert os.environ["SPARK_HOME"] == "/opt/spark"


def test_where_nothing_can_be_written_spark_does_as_always(monkeypatch, tmp_path):
    (tmp_path / "var").write_text("in the way")
    use_installed_pyspark()
    assert "SPARK_HOME" not in os.environ
