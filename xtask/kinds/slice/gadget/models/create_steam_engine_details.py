class CreateSteamEngineDetails(CreateEngineDetails):

    def __init__(self, **kwargs):
        self.swagger_types = {
            'fuel': 'str',
            'name': 'str',
            'compartment_id': 'str',
            'pressure': 'int',
        }
        self.attribute_map = {
            'fuel': 'fuel',
            'name': 'name',
            'compartment_id': 'compartmentId',
            'pressure': 'pressure',
        }

    @property
    def fuel(self):
        """
        Gets the fuel.
        """
        return self._fuel

    @property
    def name(self):
        """
        Gets the name.
        """
        return self._name

    @property
    def compartment_id(self):
        """
        Gets the compartment_id.
        """
        return self._compartment_id

    @property
    def pressure(self):
        """
        **[Required]** Gets the pressure.
        """
        return self._pressure
