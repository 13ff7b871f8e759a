"""Retrieval quality: labelled queries over real catalogs, through the service and through the searchers people use today."""
