"""Models in the `.pomdpx` format, factored ones too."""
